"""Records who changed which field in the admin, and why."""
