"""Defines SQLite's triggers: name -> (table, statement). SQLite stores the statement verbatim."""

from collections.abc import Mapping

from audit.ledger.chain import GENESIS, REDACTED
from audit.ledger.triggers import TABLES

_REFUSE = """CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only: {verb} on {table} refused'); END"""

# INSERT OR REPLACE removes a row without firing DELETE triggers. These triggers prevent that.
_SQLITE_LINK = f"""CREATE TRIGGER audit_entry_link BEFORE INSERT ON audit_entry
BEGIN SELECT RAISE(ABORT, 'the audit trail: an entry that does not extend the chain')
WHERE NEW.seq IS NOT COALESCE((SELECT MAX(seq) FROM audit_entry), 0) + 1
OR NEW.prev IS NOT COALESCE((SELECT hash FROM audit_entry ORDER BY seq DESC LIMIT 1), '{GENESIS}');
END"""  # noqa: S608 - built from constants
# A redacted detail must not come back: with the same salt it would fit its line again.
_SQLITE_ONCE = f"""CREATE TRIGGER audit_entrydetail_once BEFORE INSERT ON audit_entrydetail
BEGIN SELECT RAISE(ABORT, 'the audit trail: this entry has its detail, or had it')
WHERE EXISTS (SELECT 1 FROM audit_entrydetail WHERE entry_id = NEW.entry_id)
OR EXISTS (SELECT 1 FROM audit_entry
WHERE subject = 'entry:' || NEW.entry_id AND event = '{REDACTED}'); END"""  # noqa: S608 - the same
_SQLITE_REDACT = f"""CREATE TRIGGER audit_entrydetail_no_DELETE BEFORE DELETE ON audit_entrydetail
BEGIN SELECT RAISE(ABORT, 'the audit trail: a detail is taken out on record or not at all')
WHERE NOT EXISTS (SELECT 1 FROM audit_entry
WHERE subject = 'entry:' || OLD.entry_id AND event = '{REDACTED}'); END"""  # noqa: S608 - the same
_SQLITE_NEXT = """CREATE TRIGGER audit_checkpoint_next BEFORE INSERT ON audit_checkpoint
BEGIN SELECT RAISE(ABORT, 'the audit trail: a checkpoint that is not the next one of this chain')
WHERE NEW.size <= COALESCE((SELECT MAX(size) FROM audit_checkpoint), 0)
OR NEW.head IS NOT (SELECT hash FROM audit_entry WHERE seq = NEW.size); END"""
_SQLITE_NEW = """CREATE TRIGGER audit_receipt_new BEFORE INSERT ON audit_receipt
BEGIN SELECT RAISE(ABORT, 'the audit trail: this receipt is there')
WHERE EXISTS (SELECT 1 FROM audit_receipt WHERE id = NEW.id OR (checkpoint_id = NEW.checkpoint_id
AND anchor = NEW.anchor AND place = NEW.place)); END"""
# A check that found a fault stays, and so does the newest check of each mode and result, because
# the next check begins where it ended.
_SQLITE_OUTLIVED = """CREATE TRIGGER audit_checkrun_no_DELETE BEFORE DELETE ON audit_checkrun
BEGIN SELECT RAISE(ABORT, 'the audit trail: this check found something, or is the last of its kind')
WHERE OLD.result NOT IN ('intact', 'unanchored') OR NOT EXISTS (SELECT 1 FROM audit_checkrun
WHERE mode = OLD.mode AND result = OLD.result AND id > OLD.id); END"""
_SQLITE_KEPT = """CREATE TRIGGER audit_checkrun_new BEFORE INSERT ON audit_checkrun
BEGIN SELECT RAISE(ABORT, 'the audit trail: this check is on record')
WHERE EXISTS (SELECT 1 FROM audit_checkrun WHERE id = NEW.id); END"""
_SQLITE_REVIEW = """CREATE TRIGGER audit_auditreview_new BEFORE INSERT ON audit_auditreview
BEGIN SELECT RAISE(ABORT, 'the audit trail: this review is there')
WHERE EXISTS (SELECT 1 FROM audit_auditreview WHERE id = NEW.id); END"""

TRIGGERS: Mapping[str, tuple[str, str]] = {
    f"{table}_no_{verb}": (table, _REFUSE.format(table=table, verb=verb))
    for table in TABLES
    for verb in ("UPDATE", "DELETE")
} | {
    "audit_entrydetail_no_DELETE": ("audit_entrydetail", _SQLITE_REDACT),
    "audit_checkrun_no_DELETE": ("audit_checkrun", _SQLITE_OUTLIVED),
    "audit_entry_link": ("audit_entry", _SQLITE_LINK),
    "audit_entrydetail_once": ("audit_entrydetail", _SQLITE_ONCE),
    "audit_checkpoint_next": ("audit_checkpoint", _SQLITE_NEXT),
    "audit_receipt_new": ("audit_receipt", _SQLITE_NEW),
    "audit_checkrun_new": ("audit_checkrun", _SQLITE_KEPT),
    "audit_auditreview_new": ("audit_auditreview", _SQLITE_REVIEW),
}
