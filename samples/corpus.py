"""A whole corpus on disk: files, sites, two manifests, and what has to become of each document.

files/<site_id>/<doc_id>.pdf    as the sites' portals serve them
sites.json                      for `manage.py load_sites`
manifest.ndjson                 for `manage.py ingest_manifest`
manifest-again.ndjson           a few of its lines, delivered a second time
expected.json                   state and code of each document of the first
expected-again.json             and of the second, once the first is settled
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from ingestion.core.states import DocumentState
from samples.documents import specimen
from samples.faults import (
    DELIVERED_AGAIN,
    Fault,
    Outcome,
    expected,
)
from samples.people_and_sites import SITES, SampleSite
from samples.plan import Planned, plan
from samples.renditions import Rendition

SCHEMA_VERSION = "v2.1"
_REDELIVERED = 6
_HASHED = 3  # every third line of a manifest announces the document's SHA-256


@dataclass(frozen=True, slots=True)
class Expectation:
    site_id: str
    doc_id: str
    state: DocumentState
    code: str  # "" when nothing decides but that all is well


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
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
    directory: Path, *, base_url: str, today: date, seed: int = 2026, sites: int = 12
) -> Corpus:
    """Write the corpus for portals under `base_url`. All twelve sites take a core about 12 s."""
    planned = plan(sites)
    scanned, lines = 0, []
    for number, document in enumerate(planned):
        content = specimen(
            document.document_type,
            today=today,
            site=document.site,
            rendition=document.rendition,
            fault=document.fault,
            seed=seed,
        )
        scanned += _scanned_pages(document, content)
        _write(directory / "files" / document.site.site_id / f"{document.doc_id}.pdf", content)
        digest = "" if number % _HASHED else hashlib.sha256(content).hexdigest()
        lines.append(_line(document, base_url, digest))
    return _finish(directory, base_url, planned, lines, scanned)


def _finish(
    directory: Path,
    base_url: str,
    planned: Sequence[Planned],
    lines: Sequence[Mapping[str, str]],
    scanned: int,
) -> Corpus:
    again = list(_redelivered(planned))
    corpus = Corpus(
        directory=directory,
        files=directory / "files",
        sites=directory / "sites.json",
        manifest=directory / "manifest.ndjson",
        manifest_again=directory / "manifest-again.ndjson",
        documents=len(planned),
        scanned_pages=scanned,
        expectations=tuple(_expectation(entry, expected(entry.fault)) for entry in planned),
        expectations_again=tuple(_expectation(planned[place], DELIVERED_AGAIN) for place in again),
    )
    present = dict.fromkeys(document.site.site_id for document in planned)
    entries = [_site(entry, base_url) for entry in SITES if entry.site_id in present]
    _write(corpus.sites, _json(entries))
    _write(corpus.manifest, _ndjson(lines))
    _write(corpus.manifest_again, _ndjson(lines[place] for place in again))
    _write(directory / "expected.json", _json(map(asdict, corpus.expectations)))
    _write(directory / "expected-again.json", _json(map(asdict, corpus.expectations_again)))
    return corpus


def _redelivered(planned: Sequence[Planned]) -> Iterator[int]:
    """Places of sound documents, spread over the sites: only what is filed can be a duplicate."""
    sound = [place for place, document in enumerate(planned) if document.fault is None]
    step = max(1, len(sound) // _REDELIVERED)
    yield from sound[::step][:_REDELIVERED]


def _scanned_pages(document: Planned, content: bytes) -> int:
    """Those that can be read: a file spoilt beyond opening has none."""
    spoilt = {Fault.TRUNCATED, Fault.ENCRYPTED, Fault.A_WORD_FILE, Fault.A_WEB_PAGE}
    if document.rendition is not Rendition.SCAN or document.fault in spoilt:
        return 0
    opened = pdfium.PdfDocument(content)
    try:
        return len(opened)
    finally:
        opened.close()


def _expectation(document: Planned, outcome: Outcome) -> Expectation:
    return Expectation(document.site.site_id, document.doc_id, outcome.state, outcome.code)


def _line(document: Planned, base_url: str, digest: str) -> dict[str, str]:
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


def _site(site: SampleSite, base_url: str) -> dict[str, Any]:
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
