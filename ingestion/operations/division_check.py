"""Compares divided files with the ledger. `audit.verification.verify` runs this check.

The entry of a divided file has its parts and its excluded pages. The rows have to be the same, and
together they have to account for every page of the file exactly once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from django.db.models import Q
from django.utils.translation import gettext as _

from audit.ledger import queries
from audit.ledger.log import normalize_text
from audit.ledger.queries import Recorded
from audit.verification.verify import VerificationNotice
from ingestion.core.container_entries import find_entry_faults
from ingestion.core.file_parts import FilePart, find_account_faults
from ingestion.core.states import DocumentState
from ingestion.documents.division import DIVISION_KEY
from ingestion.documents.expansion import ENTRIES_KEY
from ingestion.documents.transitions import EVENTS
from ingestion.models import Document

DOCUMENTS_PER_PAGE = 500  # divided files that are compared at a time


def check_divisions_against_ledger(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each divided file whose pages or parts are not those of its entry.

    All divided files are compared, whatever `since` is, because rows may be changed without an
    entry. Yields a VerificationNotice for a file that cannot be compared because the detail of its
    entry is redacted.
    """
    after = 0
    # A file that is not DIVIDED must not have parts.
    rows = Document.objects.filter(Q(state=DocumentState.DIVIDED) | Q(parts__isnull=False))
    rows = (
        rows.prefetch_related("parts", "excluded_pages", "excluded_entries")
        .order_by("pk")
        .distinct()
    )
    while page := list(rows.filter(pk__gt=after)[:DOCUMENTS_PER_PAGE]):
        entries = {
            entry.subject: entry
            for entry in queries.list_entries_of_events(
                [EVENTS[DocumentState.DIVIDED]], [document.subject for document in page]
            )
        }
        for document in page:
            yield from _compare(document, entries.get(document.subject))
        after = page[-1].pk


def _compare(document: Document, entry: Recorded | None) -> Iterator[str]:
    """Yield a sentence for each difference. A file is divided once, so it has one entry."""
    names = {"document": document.subject}
    if entry is None or document.state != DocumentState.DIVIDED:
        sentence = _("{document} has parts, but no entry records that it was divided.")
        yield sentence.format(**names)
        return
    parts = [part.file_part for part in document.parts.all()]
    excluded = [FilePart.parse(e.page, e.page, e.region) for e in document.excluded_pages.all()]
    faults = find_account_faults(document.page_numbers, filter(None, parts), excluded)
    if pages := [str(fault.page) for fault in faults]:
        sentence = _("{document}: these pages are not accounted for exactly once: {pages}.")
        yield sentence.format(pages=", ".join(pages), **names)
    names["seq"] = f"{entry.seq:,}"
    if entry.is_redacted:
        sentence = _(
            "{document}: the division of entry {seq} cannot be checked: its detail is redacted."
        )
        yield VerificationNotice(sentence.format(**names))
        return
    detail = entry.detail or {}
    recorded = detail.get(DIVISION_KEY, {})
    if _serialise(_recorded_rows(recorded)) != _serialise(_stored_rows(document)):
        sentence = _("{document}: its parts and excluded pages are not those of entry {seq}.")
        yield sentence.format(**names)
    yield from _compare_entries(document, detail.get(ENTRIES_KEY, {}), names)


def _compare_entries(
    document: Document, account: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence if the entries of a container are not those of its account."""
    entries = [*document.parts.all(), *document.excluded_entries.all()]
    numbers = [each.entry for each in entries if each.entry]
    if wrong := find_entry_faults(max(numbers, default=0), numbers):
        sentence = _("{document}: these entries are not accounted for exactly once: {entries}.")
        yield sentence.format(entries=", ".join(map(str, wrong)), document=names["document"])
    if _serialise(_recorded_entries(account)) != _serialise(_stored_entries(document)):
        sentence = _("{document}: the entries in it are not those of entry {seq}.")
        yield sentence.format(**names)


def _recorded_rows(division: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """Yield what the entry says about each part and each excluded page."""
    for part in division.get("parts", ()):
        yield part["document"], part["pages"], part.get("region", "")
    for each in division.get("excluded", ()):
        yield each["use"], each["reason"], each["pages"], each.get("region", "")


def _stored_rows(document: Document) -> Iterator[Sequence[Any]]:
    """Yield the same from the rows."""
    for part in document.parts.all():
        if part.is_entry:
            continue
        yield part.subject, [part.first_page, part.last_page], part.region
    for each in document.excluded_pages.all():
        yield each.use, each.reason, [each.page, each.page], each.region


def _recorded_entries(account: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """Yield what the entry says about each entry of a container."""
    for each in (*account.get("entries", ()), *account.get("excluded", ())):
        place = each.get("document", each.get("use", ""))
        yield place, each["entry"], each["name"], each["sha256"], each["size"]


def _stored_entries(document: Document) -> Iterator[Sequence[Any]]:
    """Yield the same from the rows."""
    for row in document.parts.all():
        if row.is_entry:
            yield row.subject, row.entry, row.entry_name, row.sha256, row.size
    for each in document.excluded_entries.all():
        yield each.use, each.entry, each.name, each.sha256, each.size


def _serialise(rows: Iterator[Sequence[Any]]) -> Counter[bytes]:
    """Return the rows as texts, normalised as in a detail, with the number of each."""
    return Counter(orjson.dumps(normalize_text(list(row))) for row in rows)
