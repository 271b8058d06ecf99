"""The permissions that pages of staff require."""

VIEW_ENTRIES = "audit.view_entry"
VERIFY_LEDGER = "audit.check_ledger"
EXPORT_LEDGER = "audit.export_ledger"
VIEW_TRAIL_REVIEWS = "audit.view_auditreview"
SIGN_TRAIL_REVIEW = "audit.add_auditreview"
VIEW_ACCOUNTS = "clinical_sites.view_user"
SIGN_ACCESS_REVIEW = "clinical_sites.review_user"
# Operations and administrators, who request approvals and decide about them.
VIEW_APPROVALS = "clinical_sites.change_portal"
VIEW_OPERATIONS = "ingestion.view_chunk"
RETRY_DOCUMENTS = "ingestion.retry_document"
