"""Writes the documents of a chaos run: the sample mix once, copies of small documents, bombs."""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

from bench.documents.hostile import make_memory_bomb
from ingestion.core.states import DocumentState
from samples.corpus import Expectation, write_corpus
from samples.faults import DocumentFault
from samples.plan import plan_corpus
from samples.portal import SiteLimit
from samples.renditions import Rendition

# The limit that each portal enforces. The rows have half of its burst, because a process that was
# frozen between its reservation and its request sends the request late.
PORTAL = SiteLimit(5.0, 10)
CONFIGURED_BURST = 5
BOMBS = 4  # documents that need more memory than a parser may use
SITES = 12


@dataclass(frozen=True, slots=True)
class ExpectedDocuments:
    """Describes the folder with the documents of a run, and what has to become of each."""

    directory: Path
    manifest: str
    expected: dict[tuple[str, str], Expectation]
    sha256: dict[tuple[str, str], str]  # of the files at the portal

    @property
    def sites(self) -> Path:
        """Return the path of the file with the sites, for `load_sites`."""
        return self.directory / "sites.json"


def write(directory: Path, base_url: str, *, documents: int, seed: int) -> ExpectedDocuments:
    """Write this many documents, no two alike.

    The first documents are the sample mix, of which a small number omits the last. The others are
    copies of documents that are not scans, and `BOMBS` bombs. A web page is expected as a failed
    download, because it counts as the sign-in page of a portal.
    """
    sites = min(SITES, max(1, documents // 14))
    today = datetime.now(UTC).date()
    corpus = write_corpus(directory, base_url=base_url, today=today, seed=seed, sites=sites)
    rows = json.loads(corpus.sites.read_text())
    for row in rows:
        row["portal"] |= {"rate_per_second": PORTAL.rate_per_second, "burst": CONFIGURED_BURST}
    corpus.sites.write_text(json.dumps(rows))
    lines = [json.loads(line) for line in corpus.manifest.read_text().splitlines()]
    plan = list(plan_corpus(sites))
    expected = [
        replace(expectation, code="DOWNLOAD_FAILED")
        if planned.fault is DocumentFault.A_WEB_PAGE
        else expectation
        for expectation, planned in zip(corpus.expectations, plan, strict=True)
    ]
    small = [
        number for number, planned in enumerate(plan) if planned.rendition is not Rendition.SCAN
    ]
    del lines[documents - BOMBS :], expected[documents - BOMBS :]
    missing = documents - BOMBS - len(lines)
    for copy, number in enumerate(islice(cycle(small), missing)):
        line = lines[number]
        # A comment after the end makes other bytes, and PDF readers ignore it.
        content = (corpus.files / line["site_id"] / f"{line['doc_id']}.pdf").read_bytes()
        content += b"%%%d\n" % copy
        lines.append(_write_document(line, f"{line['doc_id']}-{copy}", content, corpus.files))
        expected.append(replace(expected[number], doc_id=lines[-1]["doc_id"]))
    bomb = make_memory_bomb()
    for number, line in enumerate(list(islice(cycle(lines[: len(small)]), BOMBS))):
        content = bomb + b"%%%d\n" % number
        lines.append(_write_document(line, f"bomb-{number}", content, corpus.files))
        refused = DocumentState.REJECTED, "PARSER_FAILURE"
        expected.append(Expectation(line["site_id"], lines[-1]["doc_id"], *refused))
    keys = [(line["site_id"], line["doc_id"]) for line in lines]
    hashes = [
        hashlib.sha256((corpus.files / site / f"{doc_id}.pdf").read_bytes()).hexdigest()
        for site, doc_id in keys
    ]
    return ExpectedDocuments(
        directory,
        "".join(json.dumps(line) + "\n" for line in lines),
        dict(zip(keys, expected, strict=True)),
        dict(zip(keys, hashes, strict=True)),
    )


def _write_document(
    line: dict[str, str], doc_id: str, content: bytes, files: Path
) -> dict[str, str]:
    """Write a further document of a site, and return its line of the manifest."""
    (files / line["site_id"] / f"{doc_id}.pdf").write_bytes(content)
    url = f"{line['url'].rpartition('/')[0]}/{doc_id}.pdf"
    return {**line, "doc_id": doc_id, "url": url, "sha256": hashlib.sha256(content).hexdigest()}
