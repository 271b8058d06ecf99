"""Checks that findings are those that are on record. Registered with `audit.verification.verify`.

A finding is made in the transaction of an entry of its document, and has that entry's number
(`attempt`). The entry's detail says code, page and facts of each; its line says which one decided,
and by which rules.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson

from audit.ledger import queries
from audit.ledger.chain import event_id
from audit.ledger.log import normalize_text
from audit.ledger.queries import Recorded
from audit.verification.verify import VerificationNotice
from ingestion.models import Document, Finding

DOCUMENTS_PER_PAGE = 1_000  # documents whose findings are compared at a time
MAX_COMPARISONS = 3  # at what seems to differ, before it does
FINDINGS_KEY = "findings"  # the key in an entry's detail


def findings_agree_with_the_ledger(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each document whose findings are not those of its entries.

    Of all documents, or of those that moved after entry `since`.
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
        yield from _differing(page)


def _differing(keys: Collection[int]) -> Iterator[str]:
    """Rows and entries are read one after the other: what moves in between does not differ."""
    suspects = {key for key, _ in _faults(keys)}
    for _ in range(MAX_COMPARISONS):
        if not suspects:
            return
        before = _revisions(suspects)
        faults = list(_faults(suspects))
        after = _revisions(suspects)
        at_rest = {key for key in suspects if before.get(key) == after.get(key)}
        yield from (sentence for key, sentence in faults if key in at_rest)
        suspects -= at_rest


def _revisions(keys: Collection[int]) -> dict[int, int]:
    return dict(Document.objects.filter(pk__in=keys).values_list("pk", "revision"))


def _faults(keys: Collection[int]) -> Iterator[tuple[int, str]]:
    """What is wrong, by document."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in Finding.objects.filter(document__in=keys).order_by("pk"):
        found[event_id(f"document:{finding.document_id}", finding.attempt)].append(finding)
    entries = {entry.event_id: entry for entry in queries.entries_by_event_ids(found.keys())}
    subjects = [f"document:{key}" for key in sorted(set(keys))]
    entries |= {
        entry.event_id: entry for entry in queries.entries_with_detail(subjects, FINDINGS_KEY)
    }
    for each in found.keys() - entries.keys():
        key = found[each][0].document_id
        for finding in found[each]:
            yield key, f"document:{key}: the finding {_named(finding)} is in no entry."
    for each, entry in entries.items():
        key = int(entry.subject.partition(":")[2])
        for sentence in _compared(entry, found.get(each, [])):
            yield key, sentence


def _compared(entry: Recorded, rows: Sequence[Finding]) -> Iterator[str]:
    where = f"{entry.subject}: the findings of entry {entry.seq:,}"
    primary = [row.code for row in rows if row.is_primary]
    if entry.is_redacted:
        if primary not in ([], [entry.code]):
            yield f"{where} are not as recorded: {', '.join(primary)} did not decide."
        yield VerificationNotice(f"{where} cannot be checked: its detail is redacted.")
        return
    detail = entry.detail or {}
    told: list[Mapping[str, Any]] = detail.get(FINDINGS_KEY, [])
    recorded = Counter(_text(each["code"], each["page"], each["facts"]) for each in told)
    kept = Counter(_text(row.code, row.page, row.facts) for row in rows)
    said = [f"{_short(each)} is gone" for each in recorded - kept]
    said += [f"{_short(each)} is not of this entry" for each in kept - recorded]
    if not said:
        said = list(_told_otherwise(entry, detail, rows, primary))
    if said:
        yield f"{where} are not as recorded: {', '.join(said)}."


def _told_otherwise(
    entry: Recorded, detail: Mapping[str, Any], rows: Sequence[Finding], primary: list[str]
) -> Iterator[str]:
    """What of the same findings is another than the entry says."""
    days = detail.get("days_before")  # of what the nightly look noted, which decides nothing
    expected = [entry.code] if entry.code and days is None else []
    if primary != expected:
        yield f"{', '.join(primary) or 'nothing'} decided, and not {entry.code or 'nothing'}"
    if any(row.rules_version and row.rules_version != entry.rules for row in rows):
        yield "the version of the rules is another"
    for row in rows:
        last = row.runs_out.isoformat() if row.runs_out else None
        noted = None if days is None else row.facts.get("expires")
        if (last, row.days_before) != (noted, days):
            yield "the day on which it runs out is another"


def _text(code: str, page: int, facts: Mapping[str, Any]) -> str:
    """As a detail has it: all text in NFC."""
    return orjson.dumps(
        [code, page, normalize_text(dict(facts))], option=orjson.OPT_SORT_KEYS
    ).decode()


def _short(text: str) -> str:
    code, page, _facts = orjson.loads(text)
    return f"{code} (page {page})" if page else str(code)


def _named(finding: Finding) -> str:
    return f"{finding.code} (page {finding.page})" if finding.page else finding.code
