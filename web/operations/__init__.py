"""Pages for operations: dashboard, portals, stuck work."""
