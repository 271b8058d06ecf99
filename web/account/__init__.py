"""Pages about a person's own account: sign-in, second factor, password, sessions, approvals."""
