"""What a decision's signature is over, and whether the rows still say it (21 CFR 11.70; R26)."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from audit import electronic_signatures
from audit.ledger import queries
from audit.ledger.queries import Recorded
from audit.verification.verify import VerificationNotice
from ingestion.models import Action, Decision
from ingestion.review.decision_rules import RULES
from ingestion.storage.archive import get_archive

DECISION_KEY = "decision"  # the key of its row, in the detail of its entry
EVENTS = frozenset(rule.event for rule in RULES.values())
DECISIONS_PER_PAGE = 500  # decisions that are compared at a time
_BLOCK = 1 << 20


def build_facts(decision: Decision) -> dict[str, Any]:
    """The canonical decision: what was decided, about what, and on which findings."""
    document = decision.document
    judged = [each for each in document.findings.all() if each.attempt == decision.judged]
    return {
        "action": str(decision.action),
        "document": document.subject,
        "site": document.site.site_id,
        # Its own columns: the document's may be corrected later. Old software left them empty.
        "name": decision.doc_id or document.doc_id,
        "type": decision.document_type or ("" if decision.doc_id else document.document_type),
        "from_state": str(decision.from_state),
        "to_state": str(decision.to_state),
        "judged": [
            {"code": each.code, "page": each.page, "facts": dict(each.facts)}
            for each in sorted(judged, key=attrgetter("pk"))
        ],
        "reason_code": decision.reason_code,
        "reason": decision.reason,
        "note": decision.note,
        "other": decision.other.subject if decision.other else "",
        "decided_at": decision.decided_at.isoformat(),
        "new_name": decision.new_doc_id,
        "new_type": decision.new_document_type,
        "signer": f"{decision.printed_name}, {decision.role}",
        "signed_as": decision.meaning,
    }


def find_changes(decision: Decision, *, with_bytes: bool = True) -> list[str]:
    """What is no longer as it was decided, by name; nothing: it holds.

    `with_bytes`: the file is read from the archive and hashed, else its row is believed. Where the
    detail of the entry is redacted, what the line says is all that is compared.
    """
    return compare_with_entry(decision, find_entry(decision), with_bytes=with_bytes)


def find_entry(decision: Decision) -> Recorded | None:
    """The entry of the ledger that a decision is in; None where there is none."""
    return _entry_of(decision, queries.entries_of_events(EVENTS, [decision.document.subject]))


def get_account_note(entry: Recorded | None) -> str:
    """What the entry says about the signer's account; "" where it says nothing."""
    return str((entry.detail or {}).get(electronic_signatures.ACCOUNT_KEY, "")) if entry else ""


def verify_signed_decisions(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each decision that differs from its entry or is missing.

    All of them, whatever `since` is: rows change without leaving an entry. What cannot be told,
    because a detail is redacted, is a Notice.
    """
    after = 0
    rows = Decision.objects.select_related("document__site", "other").order_by("pk")
    rows = rows.prefetch_related("document__findings")
    while page := list(rows.filter(pk__gt=after)[:DECISIONS_PER_PAGE]):
        entries = defaultdict(list)
        for entry in queries.entries_of_events(
            EVENTS, {decision.document.subject for decision in page}
        ):
            entries[entry.subject].append(entry)
        for decision in page:
            subject = decision.document.subject
            own = _entry_of(decision, entries[subject])
            if differing := compare_with_entry(decision, own, with_bytes=False):
                named = ", ".join(differing)
                yield f"decision {decision.pk} on {subject} is not as it was signed: {named}."
            elif own is not None and own.is_redacted:
                yield VerificationNotice(
                    f"decision {decision.pk} on {subject} cannot be checked: the detail of entry "
                    f"{own.seq:,} is redacted."
                )
        after = page[-1].pk
    yield from _decisions_that_are_gone()


def _decisions_that_are_gone() -> Iterator[str]:
    after = 0
    while page := queries.entries_after(EVENTS, after, DECISIONS_PER_PAGE):
        # Redacted ones do not say which.
        told = {
            detail[DECISION_KEY]: entry
            for entry in page
            if DECISION_KEY in (detail := entry.detail or {})
        }
        there = set(Decision.objects.filter(pk__in=told).values_list("pk", flat=True))
        for key in sorted(told.keys() - there):
            entry = told[key]
            yield (
                f"decision {key} on {entry.subject} is in entry {entry.seq:,} of the ledger, but "
                "its row is gone."
            )
        after = page[-1].seq


def _entry_of(decision: Decision, entries: Iterable[Recorded]) -> Recorded | None:
    """The entry that names this decision; or, of those that are redacted, that of its moment."""
    for entry in entries:
        if (entry.detail or {}).get(DECISION_KEY) == decision.pk:
            return entry
        if entry.is_redacted and entry.occurred_at == decision.decided_at:
            return entry
    return None


def compare_with_entry(
    decision: Decision, entry: Recorded | None, *, with_bytes: bool = True
) -> list[str]:
    """The same as `changed`, for whoever has the decision's entry at hand."""
    if entry is None:
        return [electronic_signatures.SIGNATURE_KEY]
    sha256 = decision.document.sha256
    if with_bytes and sha256:
        sha256 = _of_the_archive(sha256)
    on_the_line = [name for name, holds in _line(decision, entry) if not holds]
    if entry.is_redacted:
        return on_the_line + ([electronic_signatures.FILE_NAME] if sha256 != entry.sha256 else [])
    signed = electronic_signatures.changed_since_signing(
        entry, build_facts(decision), sha256=sha256
    )
    return list(dict.fromkeys([*on_the_line, *signed]))


def _line(decision: Decision, entry: Recorded) -> Iterator[tuple[str, bool]]:
    """What the line of the entry says too, and no redaction takes away."""
    yield "event", entry.event == RULES[Action(decision.action)].event
    yield "decided_by", entry.actor == f"user:{decision.decided_by_id}"
    yield "role", entry.role == decision.role
    yield "sha256", entry.sha256 == decision.sha256
    yield "reason_code", entry.reason_code == decision.reason_code


def _of_the_archive(sha256: str) -> str:
    """The digest of what lies there under this name; "" when nothing does."""
    digest = hashlib.sha256()
    try:
        with get_archive().open(sha256) as original:
            for block in iter(partial(original.read, _BLOCK), b""):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
