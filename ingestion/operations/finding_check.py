"""Compares findings with the ledger. `audit.verification.verify` runs this check.

A finding is created in the transaction of an entry of its document, and has that entry's number
(`attempt`). The entry's detail has the code, page and facts of each finding. Its line has the code
of the finding that decided, and the version of the rules.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson
from django.utils.translation import gettext as _

from audit.ledger import queries
from audit.ledger.chain import compute_event_id
from audit.ledger.log import normalize_text
from audit.ledger.queries import Recorded
from audit.verification.verify import VerificationNotice
from ingestion.models import Document, Finding

DOCUMENTS_PER_PAGE = 1_000  # documents whose findings are compared at a time
MAX_COMPARISONS = 3  # of a document that differs and keeps changing
FINDINGS_KEY = "findings"  # the key in an entry's detail


def check_findings_against_ledger(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each document whose findings are not those of its entries.

    Only documents with entries after number `since` are compared. 0: all.
    """
    keys: Iterator[int]
    if since:
        subjects = queries.iter_subjects("document:", since=since)
        keys = (int(subject.partition(":")[2]) for subject in subjects)
    else:
        keys = (
            Document.objects.order_by("pk")
            .values_list("pk", flat=True)
            .iterator(DOCUMENTS_PER_PAGE)
        )
    while page := list(islice(keys, DOCUMENTS_PER_PAGE)):
        yield from _find_differences(page)


def _find_differences(keys: Collection[int]) -> Iterator[str]:
    """Yield a sentence for each document that differs and does not change while it is compared."""
    suspects = {key for key, _sentence in _compare(keys)}
    rows = Document.objects.values_list("pk", "revision")
    for _attempt in range(MAX_COMPARISONS):
        if not suspects:
            return
        before = dict(rows.filter(pk__in=suspects))
        differences = list(_compare(suspects))
        after = dict(rows.filter(pk__in=suspects))
        unchanged = {key for key in suspects if before.get(key) == after.get(key)}
        yield from (sentence for key, sentence in differences if key in unchanged)
        suspects -= unchanged


def _compare(keys: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield the key of a document and a sentence, for each difference."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in Finding.objects.filter(document__in=keys).order_by("pk"):
        found[compute_event_id(f"document:{finding.document_id}", finding.attempt)].append(finding)
    entries = {entry.event_id: entry for entry in queries.list_entries_by_event_ids(found.keys())}
    subjects = [f"document:{key}" for key in sorted(set(keys))]
    entries |= {
        entry.event_id: entry for entry in queries.list_entries_with_detail(subjects, FINDINGS_KEY)
    }
    for each in found.keys() - entries.keys():
        key = found[each][0].document_id
        for finding in found[each]:
            sentence = _("{document}: no entry has the finding {finding}.")
            name = _describe(finding.code, finding.page)
            yield key, sentence.format(document=f"document:{key}", finding=name)
    for each, entry in entries.items():
        key = int(entry.subject.partition(":")[2])
        for sentence in _compare_entry(entry, found.get(each, [])):
            yield key, sentence


def _compare_entry(entry: Recorded, rows: Sequence[Finding]) -> Iterator[str]:
    """Yield a sentence if the findings are not those of the entry."""
    names = {"document": entry.subject, "seq": f"{entry.seq:,}"}
    primary = [row.code for row in rows if row.is_primary]
    if entry.is_redacted:
        if primary not in ([], [entry.code]):
            sentence = _(
                "{document}: the findings of entry {seq} are not as recorded: {codes} did not "
                "decide."
            )
            yield sentence.format(codes=", ".join(primary), **names)
        sentence = _(
            "{document}: the findings of entry {seq} cannot be checked: its detail is redacted."
        )
        yield VerificationNotice(sentence.format(**names))
        return
    detail = entry.detail or {}
    listed: list[Mapping[str, Any]] = detail.get(FINDINGS_KEY, [])
    recorded = Counter(_serialise(each["code"], each["page"], each["facts"]) for each in listed)
    stored = Counter(_serialise(row.code, row.page, row.facts) for row in rows)
    differences = [
        _("{finding} is missing").format(finding=_describe(*_parse(each)))
        for each in recorded - stored
    ]
    differences += [
        _("{finding} is not in this entry").format(finding=_describe(*_parse(each)))
        for each in stored - recorded
    ]
    if not differences:
        differences = list(_compare_columns(entry, detail, rows, primary))
    if differences:
        sentence = _("{document}: the findings of entry {seq} are not as recorded: {differences}.")
        yield sentence.format(differences=", ".join(differences), **names)


def _compare_columns(
    entry: Recorded, detail: Mapping[str, Any], rows: Sequence[Finding], primary: list[str]
) -> Iterator[str]:
    """Yield the differences in what the same findings decided, by which rules, and until when."""
    # Findings about expiry dates have this key. They are added nightly and decide nothing.
    days = detail.get("days_before")
    expected = [entry.code] if entry.code and days is None else []
    if primary != expected:
        nothing = _("nothing")
        yield _("{decided} decided, and not {expected}").format(
            decided=", ".join(primary) or nothing, expected=entry.code or nothing
        )
    if any(row.rules_version and row.rules_version != entry.rules for row in rows):
        yield _("the version of the rules differs")
    for row in rows:
        last = row.runs_out.isoformat() if row.runs_out else None
        expires = None if days is None else row.facts.get("expires")
        if (last, row.days_before) != (expires, days):
            yield _("the expiry date differs")


def _serialise(code: str, page: int, facts: Mapping[str, Any]) -> str:
    """Return a finding as text for comparison, normalised to NFC as in a detail."""
    normal = [code, page, normalize_text(dict(facts))]
    return orjson.dumps(normal, option=orjson.OPT_SORT_KEYS).decode()


def _parse(text: str) -> tuple[str, int]:
    code, page, _facts = orjson.loads(text)
    return code, page


def _describe(code: str, page: int | None) -> str:
    return _("{code} (page {page})").format(code=code, page=page) if page else code
