"""Serves the pages of a person's own account: sign-in, second factor, sessions, approvals."""
