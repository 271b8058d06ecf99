"""Defines what the signature of a decision covers, and verifies that the rows are unchanged.

A signature is linked to its record, so that it cannot be transferred to another one (21 CFR 11.70;
R26).
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from django.utils.translation import gettext as _

from audit import electronic_signatures
from audit.ledger import queries
from audit.ledger.queries import Recorded
from audit.verification.verify import VerificationNotice
from ingestion.models import Action, Decision
from ingestion.review.decision_rules import RULES
from ingestion.storage.archive import get_archive

DECISION_KEY = "decision"  # in the detail of the entry: the primary key of the decision
EVENTS = frozenset(rule.event for rule in RULES.values())
DECISIONS_PER_PAGE = 500  # in one query of the verification
_BLOCK_BYTES = 1 << 20


def build_facts(decision: Decision) -> dict[str, Any]:
    """Return what the signature covers: the decision, the document and the findings."""
    document = decision.document
    judged = [each for each in document.findings.all() if each.attempt == decision.judged]
    return {
        "action": str(decision.action),
        "document": document.subject,
        "site": document.site.site_id,
        # The decision's own columns are used, because those of the document may be corrected later.
        # Early releases left them empty.
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
        # Other decisions were signed without these facts.
        **({"division": decision.division} if decision.action == Action.DIVIDE else {}),
        **({"redaction": decision.redaction} if decision.action == Action.REDACT else {}),
        "signer": f"{decision.printed_name}, {decision.role}",
        "signed_as": decision.meaning,
    }


def find_changes(decision: Decision, *, with_bytes: bool = True) -> list[str]:
    """Return the names of facts that differ from what was signed. An empty list means none.

    With `with_bytes`, the file in the archive is read and hashed; otherwise the hash in its row is
    used. If the detail of the entry is redacted, only the fields of its ledger line are compared.
    """
    return compare_with_entry(decision, find_entry(decision), with_bytes=with_bytes)


def find_entry(decision: Decision) -> Recorded | None:
    """Return the ledger entry of a decision, or None."""
    return _entry_of(decision, queries.list_entries_of_events(EVENTS, [decision.document.subject]))


def get_account_note(entry: Recorded | None) -> str:
    """Return the note about the signer's account in the entry, or ""."""
    return str((entry.detail or {}).get(electronic_signatures.ACCOUNT_KEY, "")) if entry else ""


def verify_signed_decisions(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each decision that differs from its entry or is missing.

    All decisions are verified, whatever `since` is, because rows may be changed without an entry.
    Yields a VerificationNotice for a decision that cannot be verified because a detail is redacted.
    """
    after = 0
    rows = Decision.objects.select_related("document__site", "other").order_by("pk")
    rows = rows.prefetch_related("document__findings")
    while page := list(rows.filter(pk__gt=after)[:DECISIONS_PER_PAGE]):
        entries = defaultdict(list)
        for entry in queries.list_entries_of_events(
            EVENTS, {decision.document.subject for decision in page}
        ):
            entries[entry.subject].append(entry)
        for decision in page:
            subject = decision.document.subject
            own = _entry_of(decision, entries[subject])
            if differing := compare_with_entry(decision, own, with_bytes=False):
                sentence = _("Decision {decision} on {document} is not as it was signed: {fields}.")
                yield sentence.format(
                    decision=decision.pk, document=subject, fields=", ".join(differing)
                )
            elif own is not None and own.is_redacted:
                sentence = _(
                    "Decision {decision} on {document} cannot be checked: the detail of entry "
                    "{seq} is redacted."
                )
                yield VerificationNotice(
                    sentence.format(decision=decision.pk, document=subject, seq=f"{own.seq:,}")
                )
        after = page[-1].pk
    yield from _find_missing_decisions()


def _find_missing_decisions() -> Iterator[str]:
    """Yield a sentence for each decision in the ledger that has no row."""
    after = 0
    while page := queries.list_entries_after(EVENTS, after, DECISIONS_PER_PAGE):
        # A redacted entry does not name its decision.
        recorded = {
            detail[DECISION_KEY]: entry
            for entry in page
            if DECISION_KEY in (detail := entry.detail or {})
        }
        existing = set(Decision.objects.filter(pk__in=recorded).values_list("pk", flat=True))
        for key in sorted(recorded.keys() - existing):
            entry = recorded[key]
            sentence = _(
                "Decision {decision} on {document} is in entry {seq} of the ledger, but its row "
                "is missing."
            )
            yield sentence.format(decision=key, document=entry.subject, seq=f"{entry.seq:,}")
        after = page[-1].seq


def _entry_of(decision: Decision, entries: Iterable[Recorded]) -> Recorded | None:
    """Return the entry that names this decision, or a redacted one with the same time."""
    for entry in entries:
        if (entry.detail or {}).get(DECISION_KEY) == decision.pk:
            return entry
        if entry.is_redacted and entry.occurred_at == decision.decided_at:
            return entry
    return None


def compare_with_entry(
    decision: Decision, entry: Recorded | None, *, with_bytes: bool = True
) -> list[str]:
    """Return the same as `find_changes`, with an entry that the caller has read already."""
    if entry is None:
        return [electronic_signatures.SIGNATURE_KEY]
    sha256 = decision.document.sha256
    if with_bytes and sha256:
        sha256 = _hash_archived_file(sha256)
    # No redaction removes these fields from the ledger line.
    line = {
        "event": entry.event == RULES[Action(decision.action)].event,
        "decided_by": entry.actor == f"user:{decision.decided_by_id}",
        "role": entry.role == decision.role,
        "sha256": entry.sha256 == decision.sha256,
        "reason_code": entry.reason_code == decision.reason_code,
    }
    changed = [name for name, is_unchanged in line.items() if not is_unchanged]
    if entry.is_redacted:
        return changed + ([electronic_signatures.FILE_NAME] if sha256 != entry.sha256 else [])
    signed = electronic_signatures.list_signer_changes(entry, build_facts(decision), sha256=sha256)
    return list(dict.fromkeys([*changed, *signed]))


def _hash_archived_file(sha256: str) -> str:
    """Return the SHA-256 of the file with this name in the archive, or "" if it is missing."""
    digest = hashlib.sha256()
    try:
        with get_archive().open(sha256) as original:
            for block in iter(partial(original.read, _BLOCK_BYTES), b""):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
