"""PostgreSQL's triggers and the functions that they call; and the acts of the tables' owner."""

from audit.ledger.append_postgresql import APPEND
from audit.ledger.chain import REDACTED
from audit.ledger.triggers import TABLES

# restrict_violation becomes Django's IntegrityError, the class that SQLite's ABORT gives too.
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
# After the insert, which waits for a redaction that is under way: then its entry is seen, unless
# the snapshot is older. Once for all rows of a statement, for the chain's lock is held meanwhile.
# By event_id (a redaction is event 0 of its subject: `chain.event_id`): whatever statistics say,
# the planner looks into a unique index.
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
# What links entries, as `audit.ledger.append_postgresql` calls it. It may be there while others
# append.
APPEND_FUNCTION = f"""CREATE OR REPLACE FUNCTION
{{schema}}.audit_append(trail text, entries text, details text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $act${APPEND}$act$"""
# They run with the rights of the owner of the tables, and meet the triggers like everybody: the
# application's role deletes nothing itself. Name, its one argument, and what it does.
ACTS = (
    ("audit_redact", "seq bigint", "DELETE FROM {schema}.audit_entrydetail WHERE entry_id = seq"),
    ("audit_forget", "gone bigint[]", "DELETE FROM {schema}.audit_checkrun WHERE id = ANY (gone)"),
)

# Per statement, so that TRUNCATE, upserts and deletes of zero rows are refused as well.
_STATEMENT = "BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
_BUT_DELETE = "BEFORE UPDATE OR TRUNCATE ON {table} FOR EACH STATEMENT"
_BEFORE_INSERT = "BEFORE INSERT ON {table} FOR EACH ROW"
_AFTER_INSERT = "AFTER INSERT ON {table} REFERENCING NEW TABLE AS added FOR EACH STATEMENT"
_BEFORE_DELETE = "BEFORE DELETE ON {table} FOR EACH ROW"
# Name -> (table, what pg_trigger.tgtype says, clause, function).
TRIGGERS = {f"{table}_append_only": (table, 58, _STATEMENT, "audit_refuse") for table in TABLES} | {
    "audit_entrydetail_append_only": ("audit_entrydetail", 50, _BUT_DELETE, "audit_refuse"),
    "audit_entrydetail_on_record": ("audit_entrydetail", 11, _BEFORE_DELETE, "audit_redacted"),
    "audit_entrydetail_stays_out": ("audit_entrydetail", 4, _AFTER_INSERT, "audit_stays_out"),
    "audit_checkrun_append_only": ("audit_checkrun", 50, _BUT_DELETE, "audit_refuse"),
    "audit_checkrun_outlived": ("audit_checkrun", 11, _BEFORE_DELETE, "audit_outlived"),
    "audit_entry_link": ("audit_entry", 7, _BEFORE_INSERT, "audit_link"),
    "audit_checkpoint_next": ("audit_checkpoint", 7, _BEFORE_INSERT, "audit_next"),
}
