"""Serves the pages of the audit trail: entries, verification, exports, reviews."""
