"""Pages of the audit trail: entries, verification, exports, reviews."""
