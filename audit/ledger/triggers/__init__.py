"""Contains the SQL of the ledger tables' triggers, which `audit.ledger.append_only` installs."""

TABLES = (
    "audit_entry",
    "audit_entrydetail",
    "audit_checkpoint",
    "audit_receipt",
    "audit_checkrun",
    "audit_auditreview",
)
