"""Serves the pages of operations: dashboard, portals, stuck work."""
