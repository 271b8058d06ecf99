"""Redacts the detail of an entry, on record. The chain stays valid (R38).

ICH E6(R3) 4.2.2(b) allows it "in rare circumstances", logged and justified. The entry of the
redaction is appended first, and the detail is deleted after it in the same transaction, under the
chain's lock: the triggers delete no detail without that entry.
"""

from django.db import connection

from audit.ledger.actors import Actor
from audit.ledger.chain import REDACTED
from audit.ledger.log import ledger, record, run_after_append
from audit.models import Entry


class RedactionError(Exception):
    """Nothing was redacted. The message says why."""


def redact_entry(seq: int, *, reason: str, by: Actor, authorised_by: str) -> None:
    """Redact the detail of entry `seq`. Joins an open ledger().

    `authorised_by` is the actor name of the person who is responsible. Raises RedactionError if
    there is no detail to redact.
    """
    with ledger():
        entry = Entry.objects.filter(pk=seq).select_related("detail").first()
        if entry is None:
            raise RedactionError(f"there is no entry {seq}")
        if earlier := find_redaction(seq):
            raise RedactionError(f"entry {earlier.pk} already redacted the detail of entry {seq}")
        if not hasattr(entry, "detail"):
            raise RedactionError(f"entry {seq} has no detail")
        record(
            REDACTED,
            subject=_subject(seq),
            by=by,
            n=0,  # The triggers look for this number, and a concurrent redaction collides with it.
            site=entry.site,
            detail={"reason": reason, "authorised_by": authorised_by},
        )
        run_after_append(lambda: _delete_detail(seq))


def find_redaction(seq: int) -> Entry | None:
    """Return the entry of the redaction of entry `seq`, or None if it was not redacted."""
    return Entry.objects.filter(subject=_subject(seq), event=REDACTED).first()


def _subject(seq: int) -> str:
    return f"entry:{seq}"


def _delete_detail(seq: int) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT audit_redact(%s)", [seq])
        else:
            cursor.execute("DELETE FROM audit_entrydetail WHERE entry_id = %s", [seq])
