"""Writes a sample corpus to disk: files, sites, two manifests, the outcome of each document.

files/<site_id>/<doc_id>.pdf    as the sites' portals serve them
sites.json                      for `manage.py load_sites`
manifest.ndjson                 for `manage.py ingest_manifest`
manifest-again.ndjson           some of its lines, delivered a second time
expected.json                   expected state and code of each document of the first manifest
expected-again.json             the same for the second manifest, after the first is processed
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from ingestion.core.states import DocumentState
from samples.documents import make_sample
from samples.faults import (
    DELIVERED_AGAIN,
    DocumentFault,
    ExpectedOutcome,
    get_expected_outcome,
)
from samples.people_and_sites import SITES, SampleSite
from samples.plan import PlannedDocument, plan_corpus
from samples.renditions import Rendition

SCHEMA_VERSION = "v2.1"
_REDELIVERED_DOCUMENTS = 6  # documents that the second manifest delivers again
_HASH_INTERVAL = 3  # every third line of a manifest contains the SHA-256 of the document


@dataclass(frozen=True, slots=True)
class Expectation:
    """Describes the expected state and code of one document after it was processed."""

    site_id: str
    doc_id: str
    state: DocumentState
    code: str  # of the finding that decides; "" if the document is filed without one


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Names the files of a corpus that was written, and counts its documents."""

    directory: Path
    files: Path
    sites: Path
    manifest: Path
    manifest_again: Path
    documents: int
    scanned_pages: int
    expectations: tuple[Expectation, ...]
    expectations_again: tuple[Expectation, ...]


def write_corpus(
    directory: Path,
    *,
    base_url: str,
    today: date,
    seed: int = 2026,
    sites: int = 12,
    has_scans: bool = True,
) -> Corpus:
    """Write the corpus for portals under `base_url`. Twelve sites take about 12 s on one core.

    Raises ValueError unless `sites` is between 1 and the number of sample sites.
    """
    planned = plan_corpus(sites, has_scans=has_scans)
    scanned, lines = 0, []
    for number, document in enumerate(planned):
        content = make_sample(
            document.document_type,
            today=today,
            site=document.site,
            rendition=document.rendition,
            fault=document.fault,
            seed=seed,
        )
        scanned += _count_scanned_pages(document, content)
        _write(directory / "files" / document.site.site_id / f"{document.doc_id}.pdf", content)
        digest = "" if number % _HASH_INTERVAL else hashlib.sha256(content).hexdigest()
        lines.append(_manifest_line(document, base_url, digest))
    return _write_lists(directory, base_url, planned, lines, scanned)


def _write_lists(
    directory: Path,
    base_url: str,
    planned: Sequence[PlannedDocument],
    lines: Sequence[Mapping[str, str]],
    scanned: int,
) -> Corpus:
    # Only a filed document can have a duplicate.
    without_fault = [place for place, document in enumerate(planned) if document.fault is None]
    step = max(1, len(without_fault) // _REDELIVERED_DOCUMENTS)
    redelivered = without_fault[::step][:_REDELIVERED_DOCUMENTS]
    corpus = Corpus(
        directory=directory,
        files=directory / "files",
        sites=directory / "sites.json",
        manifest=directory / "manifest.ndjson",
        manifest_again=directory / "manifest-again.ndjson",
        documents=len(planned),
        scanned_pages=scanned,
        expectations=tuple(
            _expectation(entry, get_expected_outcome(entry.fault)) for entry in planned
        ),
        expectations_again=tuple(
            _expectation(planned[place], DELIVERED_AGAIN) for place in redelivered
        ),
    )
    present = dict.fromkeys(document.site.site_id for document in planned)
    entries = [_site_entry(entry, base_url) for entry in SITES if entry.site_id in present]
    _write(corpus.sites, _json(entries))
    _write(corpus.manifest, _ndjson(lines))
    _write(corpus.manifest_again, _ndjson(lines[place] for place in redelivered))
    _write(directory / "expected.json", _json(map(asdict, corpus.expectations)))
    _write(directory / "expected-again.json", _json(map(asdict, corpus.expectations_again)))
    return corpus


def _count_scanned_pages(document: PlannedDocument, content: bytes) -> int:
    """Return how many scanned pages the file has; 0 if it cannot be opened."""
    unreadable = {
        DocumentFault.TRUNCATED,
        DocumentFault.ENCRYPTED,
        DocumentFault.A_SPREADSHEET,
        DocumentFault.A_WEB_PAGE,
    }
    if document.rendition is not Rendition.SCAN or document.fault in unreadable:
        return 0
    pdf = pdfium.PdfDocument(content)
    try:
        return len(pdf)
    finally:
        pdf.close()


def _expectation(document: PlannedDocument, outcome: ExpectedOutcome) -> Expectation:
    return Expectation(document.site.site_id, document.doc_id, outcome.state, outcome.code)


def _manifest_line(document: PlannedDocument, base_url: str, digest: str) -> dict[str, str]:
    site, doc_id = document.site, document.doc_id
    line = {
        "site_id": site.site_id,
        "doc_id": doc_id,
        "url": f"{base_url}/{site.site_id}/{doc_id}.pdf",
        "schema_version": SCHEMA_VERSION,
        "document_type": document.document_type,
        "filename": f"{site.study.protocol_number}_{site.site_id}_{doc_id}.pdf",
        "packet": f"{site.study.protocol_number} {site.site_id} activation",
    }
    return {**line, "sha256": digest} if digest else line


def _site_entry(site: SampleSite, base_url: str) -> dict[str, Any]:
    return {
        "study": site.study.protocol_number,
        "protocol_version": site.study.version,
        "site_id": site.site_id,
        "name": site.hospital,
        "country": site.country,
        "portal": {
            "base_url": f"{base_url}/{site.site_id}/",
            "rate_per_second": site.rate_per_second,
            "burst": site.burst,
            "max_in_flight": 2,
            "timeout_seconds": 15.0,
            "allow_http": True,
            "allow_private_hosts": True,
        },
    }


def _json(entries: Iterable[Any]) -> bytes:
    return (json.dumps(list(entries), indent=1) + "\n").encode()


def _ndjson(lines: Iterable[Mapping[str, str]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
