"""The triggers of the ledger's tables, as each database is told them by `audit.guards`."""

TABLES = (
    "audit_entry",
    "audit_entrydetail",
    "audit_checkpoint",
    "audit_receipt",
    "audit_checkrun",
    "audit_auditreview",
)
