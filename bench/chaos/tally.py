"""Counts documents and faults at the end of a chaos run, and checks that each is as required."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db.models import Count

from audit.ledger.queries import Recorded, list_entries
from audit.verification import verify
from bench.chaos.expected_documents import ExpectedDocuments
from bench.chaos.uploads import KIND, SITE, KeyedUpload
from ingestion.core.states import DocumentState
from ingestion.models import Chunk, Document
from ingestion.operations import retention
from ingestion.storage import archive_verification
from samples.corpus import Expectation

BATCH_DOCUMENTS = 200  # documents whose entries are read together
MAX_NAMES = 8  # in one row of the table
# Outcomes that faults explain, by the code in their entry. A scan that is hard to read is reviewed
# even if its generator expects otherwise, and a file is held after it killed its parser twice.
EXPLAINED = {"OCR_LOW_CONFIDENCE", "PARSER_FAILURE"}


@dataclass(slots=True)
class Tally:
    """Counts what became of the documents, and names those with which something is wrong."""

    documents: int = 0
    filed: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[str]] = field(default_factory=dict)
    repeated: int = 0  # attempts after the first one of each document
    kept: int = 0  # spooled uploads of documents that are held
    pruned: int = 0  # spooled files of settled documents after a kill, until they are pruned
    orphans: int = 0  # files of the archive without a document, which are harmless

    @property
    def wasted(self) -> float:
        """Return the number of repeated attempts per document."""
        return self.repeated / max(1, self.documents)

    @property
    def is_good(self) -> bool:
        """Return whether no document was lost, filed twice, wrong or unexplained."""
        return not any(self.faults.values())


def count(
    offer: ExpectedDocuments, sent: list[KeyedUpload], damaged: set[str], violations: int
) -> Tally:
    """Return the counts. Call this when the hosts and the web server are stopped.

    `damaged` are the digests of uploads whose bytes are lost, and `violations` is the number of
    requests that the portal refused with 429.
    """
    tally = Tally()
    documents = Document.objects.select_related("site").iterator()
    rows = {(row.site.site_id, row.doc_id, row.expected_sha256): row for row in documents}
    tally.documents = len(rows)
    registered = {key[:2]: row for key, row in rows.items() if row.url}
    uploaded = {row.expected_sha256: row for row in rows.values() if not row.url}
    triples = [
        (registered.get(key), expected, offer.sha256[key])
        for key, expected in offer.expected.items()
    ]
    for upload in sent:
        outcome = (DocumentState.ARCHIVED, "")
        if upload.sha256 in damaged:
            outcome = (DocumentState.HELD, "STORAGE_UNAVAILABLE")
        expected = Expectation(SITE, KIND, *outcome)
        triples.append((uploaded.get(upload.sha256), expected, upload.sha256))
    faults = tally.faults
    faults["lost"] = [
        str(expected) for row, expected, _ in triples if row is None or not row.settled_at
    ]
    faults["registered twice"] = [""] * (Document.objects.count() - len(triples))
    same_bytes = Document.objects.on_file().order_by().values("site", "doc_id", "sha256")
    faults["filed twice"] = [
        *map(str, same_bytes.annotate(n=Count("pk")).filter(n__gt=1)),
        *(
            subject
            for events in _count_events()
            for (subject, event), n in events.items()
            if event == "document.filed" and n > 1
        ),
    ]
    for name in ("unexplained", "wrong outcome", "wrong bytes filed"):
        faults[name] = []
    for row, expected, sha256 in triples:
        if row is not None and row.settled_at:
            _compare_outcome(tally, row, expected, sha256)
    faults["portal limits broken"] = ["429"] * violations
    _check_ledger_and_archive(tally)
    _check_spool(tally)
    tally.repeated = sum(
        n - 1
        for events in _count_events()
        for (_, event), n in events.items()
        if event == "document.checking"
    )
    return tally


def _compare_outcome(tally: Tally, row: Document, expected: Expectation, sha256: str) -> None:
    """Count the outcome of a settled document, and whether it is explained if it is unexpected."""
    if row.state == DocumentState.ARCHIVED:
        tally.filed += 1
        if row.sha256 != sha256:
            tally.faults["wrong bytes filed"].append(row.subject)
    is_as_expected = row.state == expected.state and expected.code in {"", row.code}
    if is_as_expected and expected.state != DocumentState.HELD:
        return
    entries = list_entries(row.subject)
    steps = [
        f"{entry.event} {(entry.detail or {}).get('fault', entry.code)}".strip()
        for entry in entries
    ]
    document = f"{row.subject} {row.site.site_id}/{row.doc_id}"
    description = f"{document}: {row.state} {row.code} ({', '.join(steps)})"
    entry = next((each for each in reversed(entries) if each.to_state), None)
    if entry is None or not entry.code or entry.to_state != row.state or not entry.detail:
        tally.faults["unexplained"].append(description)
    elif is_as_expected or row.code in EXPLAINED:
        tally.explained[f"{row.state} {row.code}"] += 1
    else:
        tally.faults["wrong outcome"].append(description)


def _count_events() -> Iterator[Counter[tuple[str, str]]]:
    """Yield how often each event occurred for each document, in groups of documents."""
    keys = list(Document.objects.order_by("pk").values_list("pk", flat=True))
    for at in range(0, len(keys), BATCH_DOCUMENTS):
        subjects = [f"document:{pk}" for pk in keys[at : at + BATCH_DOCUMENTS]]
        entries: list[Recorded] = list_entries(*subjects)
        yield Counter((entry.subject, entry.event) for entry in entries)


def _check_ledger_and_archive(tally: Tally) -> None:
    """Verify ledger and archive, and list leases that are still held."""
    verdict = verify.verify_ledger()
    broken = [] if verdict.intact else [str(verdict.first_bad), *verdict.problems]
    tally.faults["ledger broken"] = broken
    archive = archive_verification.verify_parts(asked_by="system:chaos")
    orphaned = archive_verification.ArchiveFault.ORPHANED
    tally.orphans = archive.counts[orphaned]
    tally.faults["archive changed"] = [
        f"{fault} {name}"
        for fault, names in archive.named.items()
        if fault != orphaned
        for name in names
    ]
    leases = Chunk.objects.exclude(lease_id=None).values_list("pk", flat=True)
    tally.faults["leases left"] = list(map(str, leases))


def list_names(names: list[str]) -> str:
    """Return the first names, and the number of the others."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return "; ".join(names[:MAX_NAMES]) + more


def _check_spool(tally: Tally) -> None:
    """Count the files in the spool, and list those that remain after pruning long afterwards."""
    needed, before = {key for key, _, _ in retention.list_needed_uploads()}, _list_spool()
    tally.kept, tally.pruned = len(before & needed), len(before - needed)
    for key in before:
        os.utime(Path(settings.SPOOL_DIR) / key, (0, 0))
    retention.prune()
    remaining = _list_spool()
    tally.faults["spool left"] = sorted(remaining - needed)
    tally.faults["pruned though needed"] = sorted((before & needed) - remaining)


def _list_spool() -> set[str]:
    root = Path(settings.SPOOL_DIR)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
