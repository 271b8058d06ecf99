"""The permissions that pages of the audit trail ask for."""

SEE, CHECK, EXPORT = "audit.view_entry", "audit.check_ledger", "audit.export_ledger"
SEE_REVIEWS, REVIEW = "audit.view_auditreview", "audit.add_auditreview"
