"""Lists the permissions that pages of staff require."""

from ingestion.documents.downloads import REVIEW_PERMISSION

REVIEW_DOCUMENTS = REVIEW_PERMISSION
VIEW_DOCUMENTS = "ingestion.view_document"
VIEW_PACKETS = "ingestion.view_packet"
CANCEL_BATCH = "ingestion.cancel_batch"
VIEW_SITES = "clinical_sites.view_site"
VIEW_ENTRIES = "audit.view_entry"
VERIFY_LEDGER = "audit.check_ledger"
EXPORT_LEDGER = "audit.export_ledger"
VIEW_TRAIL_REVIEWS = "audit.view_auditreview"
SIGN_TRAIL_REVIEW = "audit.add_auditreview"
VIEW_ACCOUNTS = "clinical_sites.view_user"
SIGN_ACCESS_REVIEW = "clinical_sites.review_user"
# Operations and administrators, who request approvals and decide about them.
VIEW_APPROVALS = "clinical_sites.change_portal"
VIEW_JOBS = "audit.view_auditjob"
VIEW_OPERATIONS = "ingestion.view_chunk"
RETRY_DOCUMENTS = "ingestion.retry_document"
VIEW_MODELS = "ingestion.view_learnedmodel"
ACTIVATE_MODELS = "ingestion.activate_learnedmodel"
