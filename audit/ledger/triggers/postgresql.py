"""Defines PostgreSQL's triggers, their functions, and the functions that delete as the owner."""

from audit.ledger.append_postgresql import APPEND
from audit.ledger.chain import REDACTED
from audit.ledger.triggers import TABLES

# restrict_violation becomes Django's IntegrityError, like SQLite's ABORT.
_REFUSAL = """
BEGIN
  RAISE EXCEPTION 'the audit trail is append-only: % on % refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END """
_LINK = """
DECLARE
  tail record;
BEGIN
  SELECT seq, hash INTO tail FROM {schema}.audit_entry ORDER BY seq DESC LIMIT 1;
  IF NEW.seq <> COALESCE(tail.seq, 0) + 1
     OR NEW.prev <> COALESCE(tail.hash, repeat('0', 64))
     OR NEW.hash <> encode(sha256(convert_to(NEW.body, 'UTF8')), 'hex') THEN
    RAISE EXCEPTION 'the audit trail: entry % does not extend the chain', NEW.seq
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END """
_NEXT = """
BEGIN
  IF NEW.size <= (SELECT COALESCE(max(size), 0) FROM {schema}.audit_checkpoint)
     OR NEW.head IS DISTINCT FROM (SELECT hash FROM {schema}.audit_entry WHERE seq = NEW.size) THEN
    RAISE EXCEPTION 'the audit trail: checkpoint % is not the next one of this chain', NEW.size
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END """
_REDACTED = f"""
BEGIN
  IF NOT EXISTS (SELECT 1 FROM {{schema}}.audit_entry
                 WHERE subject = 'entry:' || OLD.entry_id AND event = '{REDACTED}') THEN
    RAISE EXCEPTION 'the audit trail: a detail is taken out on record or not at all'
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END """  # noqa: S608 - the same
# This trigger fires after the insert, which waits for a redaction in progress. So it sees the entry
# of the redaction, unless the snapshot is older. It fires once for all rows of a statement, because
# the chain's lock is held meanwhile. It searches by event_id (a redaction has number 0 of its
# subject: `chain.compute_event_id`), because the planner uses a unique index whatever the
# statistics are.
_STAYS_OUT = f"""
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed'
     OR EXISTS (SELECT 1 FROM added WHERE '{REDACTED}' =
                (SELECT event FROM {{schema}}.audit_entry WHERE event_id = encode(sha256(convert_to(
                 '{{{{"n":0,"subject":"entry:' || added.entry_id || '"}}}}', 'UTF8')), 'hex'))) THEN
    RAISE EXCEPTION 'the audit trail: this detail was taken out, or it cannot be told'
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NULL;
END """  # noqa: S608 - the same
_OUTLIVED = """
BEGIN
  IF OLD.result NOT IN ('intact', 'unanchored') OR NOT EXISTS (
     SELECT 1 FROM {schema}.audit_checkrun
     WHERE mode = OLD.mode AND result = OLD.result AND id > OLD.id) THEN
    RAISE EXCEPTION 'the audit trail: check % found something, or is the last of its kind', OLD.id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END """
FUNCTIONS = {
    "audit_refuse": _REFUSAL,
    "audit_link": _LINK,
    "audit_next": _NEXT,
    "audit_redacted": _REDACTED,
    "audit_stays_out": _STAYS_OUT,
    "audit_outlived": _OUTLIVED,
}
# The function that links entries, which `audit.ledger.append_postgresql` calls. It is replaced and
# not dropped, because other sessions may append meanwhile.
APPEND_FUNCTION = f"""CREATE OR REPLACE FUNCTION
{{schema}}.audit_append(trail text, entries text, details text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $act${APPEND}$act$"""
# These functions run with the rights of the owner of the tables, and the triggers check them as
# well: the application's role itself may not delete. Each has a name, one argument and a statement.
OWNER_FUNCTIONS = (
    ("audit_redact", "seq bigint", "DELETE FROM {schema}.audit_entrydetail WHERE entry_id = seq"),
    ("audit_forget", "gone bigint[]", "DELETE FROM {schema}.audit_checkrun WHERE id = ANY (gone)"),
)

# For each statement, so that TRUNCATE, upserts and deletes of zero rows are refused as well.
_STATEMENT = "BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
_BUT_DELETE = "BEFORE UPDATE OR TRUNCATE ON {table} FOR EACH STATEMENT"
_BEFORE_INSERT = "BEFORE INSERT ON {table} FOR EACH ROW"
_AFTER_INSERT = "AFTER INSERT ON {table} REFERENCING NEW TABLE AS added FOR EACH STATEMENT"
_BEFORE_DELETE = "BEFORE DELETE ON {table} FOR EACH ROW"
# Name -> (table, value of pg_trigger.tgtype, clause, function).
TRIGGERS = {f"{table}_append_only": (table, 58, _STATEMENT, "audit_refuse") for table in TABLES} | {
    "audit_entrydetail_append_only": ("audit_entrydetail", 50, _BUT_DELETE, "audit_refuse"),
    "audit_entrydetail_on_record": ("audit_entrydetail", 11, _BEFORE_DELETE, "audit_redacted"),
    "audit_entrydetail_stays_out": ("audit_entrydetail", 4, _AFTER_INSERT, "audit_stays_out"),
    "audit_checkrun_append_only": ("audit_checkrun", 50, _BUT_DELETE, "audit_refuse"),
    "audit_checkrun_outlived": ("audit_checkrun", 11, _BEFORE_DELETE, "audit_outlived"),
    "audit_entry_link": ("audit_entry", 7, _BEFORE_INSERT, "audit_link"),
    "audit_checkpoint_next": ("audit_checkpoint", 7, _BEFORE_INSERT, "audit_next"),
}
