"""What a measurement is fed with: many small, born-digital documents, no two alike."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import plain
from samples.corpus import SCHEMA_VERSION, write_corpus
from samples.documents import make_sample
from samples.pages import PAGES
from samples.people_and_sites import SITES, SampleSite
from samples.portal import SiteLimit

UNLIMITED = SiteLimit(1_000_000.0, 1_000_000)
IN_FLIGHT = 8  # requests that one portal takes at a time
SMALL = 100_000  # bytes of a small document

# (document type, content): what a site's documents are copies of.
Originals = Callable[[SampleSite], Sequence[tuple[str, bytes]]]


@dataclass(frozen=True, slots=True)
class Offer:
    """A folder that the sample portal serves: `files/`, `sites.json`, `manifest.ndjson`."""

    directory: Path
    documents: int

    @property
    def sites(self) -> Path:
        return self.directory / "sites.json"

    @property
    def manifest(self) -> Path:
        return self.directory / "manifest.ndjson"


def samples(site: SampleSite) -> Sequence[tuple[str, bytes]]:
    """One sound document of each type, made for the site."""
    today = datetime.now(UTC).date()
    return [(kind, make_sample(kind, today=today, site=site)) for kind in PAGES]


def real_documents(corpus: Path) -> Originals:
    """Every small born-digital PDF of a corpus in which the usual way finds text, too.

    `corpus` is a folder with a `manifest.json` that tells of each file what kind it is. What type
    they are is no matter here: they are declared as curricula vitae, and read and judged as such.
    """
    rows = json.loads((corpus / "manifest.json").read_text())
    paths = [corpus / row["file"] for row in rows if row["kind"] == "born-digital"]
    contents = [path.read_bytes() for path in paths if path.suffix == ".pdf"]
    found = [each for each in contents if len(each) <= SMALL and plain.has_text(each)]
    return lambda _: [("cv", content) for content in found]


def write_offer(
    directory: Path,
    base_url: str,
    *,
    limits: Sequence[SiteLimit],
    documents: int,
    originals: Originals = samples,
) -> Offer:
    """As many sites as there are `limits`, each with `documents` documents.

    A site's `originals` are copied and then told apart by a comment behind their end, which no
    reader minds: five thousand take seconds.
    """
    rows, lines = [], []
    for number, limit in enumerate(limits):
        site = replace(SITES[number % len(SITES)], site_id=str(3001 + number))
        rows.append(_row(site, limit, base_url))
        for doc_id, kind, content in _copies(originals(site), documents):
            path = directory / "files" / site.site_id / f"{doc_id}.pdf"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            lines.append(_line(site, doc_id, kind, base_url))
    offer = Offer(directory, len(lines))
    offer.sites.write_text(json.dumps(rows))
    offer.manifest.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return offer


def write_mix(directory: Path, base_url: str, *, times: int = 1) -> Offer:
    """The sample corpus, scans and faulty documents included, from portals without a limit.

    Several times over, the copies made distinct as above: so that a run's start and its end, when
    the last scan occupies one core, are a small part of it.
    """
    corpus = write_corpus(directory, base_url=base_url, today=datetime.now(UTC).date())
    rows = json.loads(corpus.sites.read_text())
    for row in rows:
        row["portal"] |= {
            "rate_per_second": UNLIMITED.rate_per_second,
            "burst": UNLIMITED.burst,
            "max_in_flight": IN_FLIGHT,
        }
    corpus.sites.write_text(json.dumps(rows))
    lines = [json.loads(line) for line in corpus.manifest.read_text().splitlines()]
    copies = [_copy(line, number, corpus.files) for number in range(1, times) for line in lines]
    corpus.manifest.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *copies]))
    return Offer(directory, times * corpus.documents)


def _copy(line: dict[str, str], number: int, files: Path) -> dict[str, str]:
    """The line of a copy, which is written."""
    site, doc_id = line["site_id"], f"{line['doc_id']}-{number}"
    content = (files / site / f"{line['doc_id']}.pdf").read_bytes() + b"%%%d\n" % number
    (files / site / f"{doc_id}.pdf").write_bytes(content)
    url = line["url"].replace(f"/{line['doc_id']}.pdf", f"/{doc_id}.pdf")
    kept = {name: value for name, value in line.items() if name != "sha256"}
    return {**kept, "doc_id": doc_id, "url": url}


def _copies(
    originals: Sequence[tuple[str, bytes]], documents: int
) -> Iterator[tuple[str, str, bytes]]:
    for number in range(documents):
        kind, content = originals[number % len(originals)]
        yield f"{kind}-{number:04d}", kind, content + b"%%%d\n" % number


def _row(site: SampleSite, limit: SiteLimit, base_url: str) -> dict[str, Any]:
    return {
        "study": site.study.protocol_number,
        "site_id": site.site_id,
        "name": site.hospital,
        "country": site.country,
        "portal": {
            "base_url": f"{base_url}/{site.site_id}/",
            "rate_per_second": limit.rate_per_second,
            "burst": limit.burst,
            "max_in_flight": IN_FLIGHT,
            "timeout_seconds": 30.0,
            "allow_http": True,
            "allow_private_hosts": True,
        },
    }


def _line(site: SampleSite, doc_id: str, kind: str, base_url: str) -> dict[str, str]:
    return {
        "site_id": site.site_id,
        "doc_id": doc_id,
        "url": f"{base_url}/{site.site_id}/{doc_id}.pdf",
        "schema_version": SCHEMA_VERSION,
        "document_type": kind,
    }
