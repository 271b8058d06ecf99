"""The counts at the end of a chaos run, and whether each is as required."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db.models import Count

from audit.ledger.queries import Recorded, timeline
from audit.verification import verify
from bench.chaos.offer import Offer
from bench.chaos.uploads import KIND, SITE, Upload
from ingestion.core.states import DocumentState
from ingestion.models import Chunk, Document
from ingestion.operations import retention
from ingestion.storage import archive_verification
from samples.corpus import Expectation

AT_ONCE = 200  # documents whose entries are read together
NAMED = 8
# Outcomes that faults explain, by the code in their entry. A scan that is hard to read is reviewed
# even if its generator expects otherwise, and a file is held after it killed its parser twice.
EXPLAINED = {"OCR_LOW_CONFIDENCE", "PARSER_FAILURE"}


@dataclass(slots=True)
class Tally:
    documents: int = 0
    filed: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[str]] = field(default_factory=dict)
    again: int = 0  # attempts after the first one of each document
    kept: int = 0  # spooled uploads of documents that are held
    swept: int = 0  # spooled files of settled documents after a kill, until they are pruned
    orphans: int = 0  # files of the archive without a document, which are harmless

    @property
    def wasted(self) -> float:
        return self.again / max(1, self.documents)

    @property
    def is_good(self) -> bool:
        return not any(self.faults.values())


def count(offer: Offer, sent: list[Upload], spoilt: set[str], violations: int) -> Tally:
    """Return the counts. Call this when the hosts and the web server are stopped."""
    tally = Tally()
    rows = {(row.site.site_id, row.doc_id, row.expected_sha256): row for row in _documents()}
    tally.documents = len(rows)
    registered = {key[:2]: row for key, row in rows.items() if row.url}
    uploaded = {row.expected_sha256: row for row in rows.values() if not row.url}
    pairs = [(registered.get(key), what, offer.sha256[key]) for key, what in offer.expected.items()]
    pairs += [(uploaded.get(each.sha256), _of(each, spoilt), each.sha256) for each in sent]
    faults = tally.faults
    faults["lost"] = [str(what) for row, what, _ in pairs if row is None or not row.settled_at]
    faults["registered twice"] = [""] * (Document.objects.count() - len(pairs))
    faults["filed twice"] = list(_filed_twice())
    for name in ("unexplained", "wrong outcome", "wrong bytes filed"):
        faults[name] = []
    for row, what, sha256 in pairs:
        if row is not None and row.settled_at:
            _judge(tally, row, what, sha256)
    faults["portal limits broken"] = ["429"] * violations
    _look_at_what_is_left(tally)
    return tally


def _documents() -> "Iterator[Document]":
    return Document.objects.select_related("site").iterator()


def _of(upload: Upload, spoilt: set[str]) -> Expectation:
    if upload.sha256 in spoilt:
        return Expectation(SITE, KIND, DocumentState.HELD, "STORAGE_UNAVAILABLE")
    return Expectation(SITE, KIND, DocumentState.ARCHIVED, "")


def _judge(tally: Tally, row: Document, expected: Expectation, sha256: str) -> None:
    if row.state == DocumentState.ARCHIVED:
        tally.filed += 1
        if row.sha256 != sha256:
            tally.faults["wrong bytes filed"].append(row.subject)
    is_as_expected = row.state == expected.state and expected.code in {"", row.code}
    if is_as_expected and expected.state != DocumentState.HELD:
        return
    entries = timeline(row.subject)
    told = f"{row.subject} {row.site.site_id}/{row.doc_id}: {row.state} {row.code} {_way(entries)}"
    entry = next((each for each in reversed(entries) if each.to_state), None)
    if entry is None or not entry.code or entry.to_state != row.state or not entry.detail:
        tally.faults["unexplained"].append(told)
    elif is_as_expected or row.code in EXPLAINED:
        tally.explained[f"{row.state} {row.code}"] += 1
    else:
        tally.faults["wrong outcome"].append(told)


def _way(entries: list[Recorded]) -> str:
    """Return the history of a document, for the analysis of a failure."""
    steps = [
        f"{entry.event} {(entry.detail or {}).get('fault', entry.code)}".strip()
        for entry in entries
    ]
    return f"({', '.join(steps)})"


def _filed_twice() -> Iterator[str]:
    filed = Document.objects.on_file().order_by()
    twice = filed.values("site", "doc_id", "sha256").annotate(n=Count("pk")).filter(n__gt=1)
    yield from map(str, twice)
    for events in _events():
        yield from (subject for (subject, event), n in events.items() if _is_again(event, n))


def _is_again(event: str, n: int) -> bool:
    return event == "document.filed" and n > 1


def _events() -> Iterator[Counter[tuple[str, str]]]:
    """Yield how often each event occurred for each document, in groups of documents."""
    keys = list(Document.objects.order_by("pk").values_list("pk", flat=True))
    for at in range(0, len(keys), AT_ONCE):
        entries: list[Recorded] = timeline(*(f"document:{pk}" for pk in keys[at : at + AT_ONCE]))
        yield Counter((entry.subject, entry.event) for entry in entries)


def _look_at_what_is_left(tally: Tally) -> None:
    verdict = verify.verify_ledger()
    broken = [] if verdict.intact else [str(verdict.first_bad), *verdict.problems]
    tally.faults["ledger broken"] = broken
    stock = archive_verification.verify_parts(asked_by="system:chaos")
    tally.orphans = stock.counts[archive_verification.ArchiveFault.ORPHANED]
    wrong = {fault: names for fault, names in stock.named.items() if names}
    wrong.pop(archive_verification.ArchiveFault.ORPHANED, None)
    tally.faults["archive changed"] = [
        f"{fault} {name}" for fault in wrong for name in wrong[fault]
    ]
    leases = Chunk.objects.exclude(lease_id=None).values_list("pk", flat=True)
    tally.faults["leases left"] = list(map(str, leases))
    _look_into_the_spool(tally)
    tally.again = sum(
        n - 1 for events in _events() for (_, event), n in events.items()
        if event == "document.checking"
    )  # fmt: skip


def named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more


def _look_into_the_spool(tally: Tally) -> None:
    """Count the files in the spool, after pruning with a much later time."""
    needed, before = {key for key, _, _ in retention.list_needed_uploads()}, _spooled()
    tally.kept, tally.swept = len(before & needed), len(before - needed)
    for key in before:
        os.utime(Path(settings.SPOOL_DIR) / key, (0, 0))
    retention.prune()
    left = _spooled()
    tally.faults["spool left"] = sorted(left - needed)
    tally.faults["pruned though needed"] = sorted((before & needed) - left)


def _spooled() -> set[str]:
    root = Path(settings.SPOOL_DIR)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
