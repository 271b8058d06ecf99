"""Writes the documents of a measurement: many small, born-digital documents, no two alike."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.sides import plain
from samples.corpus import SCHEMA_VERSION, write_corpus
from samples.documents import make_sample
from samples.pages import PAGES
from samples.people_and_sites import SITES, SampleSite
from samples.portal import SiteLimit

UNLIMITED = SiteLimit(1_000_000.0, 1_000_000)
MAX_IN_FLIGHT = 8  # concurrent requests to one portal
MAX_SMALL_BYTES = 100_000

# (document type, content) of the documents that are copied for a site.
Originals = Callable[[SampleSite], Sequence[tuple[str, bytes]]]


@dataclass(frozen=True, slots=True)
class ServedDocuments:
    """A folder that the sample portal serves: `files/`, `sites.json`, `manifest.ndjson`."""

    directory: Path
    documents: int

    @property
    def sites(self) -> Path:
        """Return the path of the file with the sites."""
        return self.directory / "sites.json"

    @property
    def manifest(self) -> Path:
        """Return the path of the manifest."""
        return self.directory / "manifest.ndjson"


def samples(site: SampleSite) -> Sequence[tuple[str, bytes]]:
    """Return one document without a fault of each type, made for the site."""
    today = datetime.now(UTC).date()
    return [(kind, make_sample(kind, today=today, site=site)) for kind in PAGES]


def real_documents(corpus: Path) -> Originals:
    """Return the small born-digital PDFs of a corpus in which the usual design also finds text.

    `corpus` is a folder with a `manifest.json` that states the kind of each file. Their document
    types do not matter here: all are declared, read and checked as curricula vitae.
    """
    rows = json.loads((corpus / "manifest.json").read_text())
    paths = [corpus / row["file"] for row in rows if row["kind"] == "born-digital"]
    contents = [path.read_bytes() for path in paths if path.suffix == ".pdf"]
    small = [each for each in contents if len(each) <= MAX_SMALL_BYTES and plain.has_text(each)]
    return lambda _: [("cv", content) for content in small]


def write_offer(
    directory: Path,
    base_url: str,
    *,
    limits: Sequence[SiteLimit],
    documents: int,
    originals: Originals = samples,
) -> ServedDocuments:
    """Write an offer with one site for each of the `limits`, each with `documents` documents.

    The documents are copies of the site's `originals` with a comment after their end, which PDF
    readers ignore. Five thousand copies take seconds.
    """
    rows, lines = [], []
    for number, limit in enumerate(limits):
        site = replace(SITES[number % len(SITES)], site_id=str(3001 + number))
        rows.append(_site_row(site, limit, base_url))
        folder = directory / "files" / site.site_id
        folder.mkdir(parents=True, exist_ok=True)
        copied = originals(site)
        for copy in range(documents):
            kind, content = copied[copy % len(copied)]
            doc_id = f"{kind}-{copy:04d}"
            (folder / f"{doc_id}.pdf").write_bytes(content + b"%%%d\n" % copy)
            lines.append(
                {
                    "site_id": site.site_id,
                    "doc_id": doc_id,
                    "url": f"{base_url}/{site.site_id}/{doc_id}.pdf",
                    "schema_version": SCHEMA_VERSION,
                    "document_type": kind,
                }
            )
    offer = ServedDocuments(directory, len(lines))
    offer.sites.write_text(json.dumps(rows))
    offer.manifest.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return offer


def write_mix(directory: Path, base_url: str, *, times: int = 1) -> ServedDocuments:
    """Write the sample corpus, with scans and faults, from portals without limits.

    It is repeated `times` times with distinct copies, so that the start and the end of a run, when
    the last scan occupies one core, are a small part of it.
    """
    corpus = write_corpus(directory, base_url=base_url, today=datetime.now(UTC).date())
    rows = json.loads(corpus.sites.read_text())
    for row in rows:
        row["portal"] |= {
            "rate_per_second": UNLIMITED.rate_per_second,
            "burst": UNLIMITED.burst,
            "max_in_flight": MAX_IN_FLIGHT,
        }
    corpus.sites.write_text(json.dumps(rows))
    lines = [json.loads(line) for line in corpus.manifest.read_text().splitlines()]
    copies = [
        _write_copy(line, number, corpus.files) for number in range(1, times) for line in lines
    ]
    corpus.manifest.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *copies]))
    return ServedDocuments(directory, times * corpus.documents)


def _write_copy(line: dict[str, str], number: int, files: Path) -> dict[str, str]:
    """Write a copy, and return its line of the manifest."""
    site, doc_id = line["site_id"], f"{line['doc_id']}-{number}"
    content = (files / site / f"{line['doc_id']}.pdf").read_bytes() + b"%%%d\n" % number
    (files / site / f"{doc_id}.pdf").write_bytes(content)
    url = line["url"].replace(f"/{line['doc_id']}.pdf", f"/{doc_id}.pdf")
    others = {name: value for name, value in line.items() if name != "sha256"}
    return {**others, "doc_id": doc_id, "url": url}


def _site_row(site: SampleSite, limit: SiteLimit, base_url: str) -> dict[str, Any]:
    return {
        "study": site.study.protocol_number,
        "site_id": site.site_id,
        "name": site.hospital,
        "country": site.country,
        "portal": {
            "base_url": f"{base_url}/{site.site_id}/",
            "rate_per_second": limit.rate_per_second,
            "burst": limit.burst,
            "max_in_flight": MAX_IN_FLIGHT,
            "timeout_seconds": 30.0,
            "allow_http": True,
            "allow_private_hosts": True,
        },
    }
