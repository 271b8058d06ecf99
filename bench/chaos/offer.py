"""The documents of a chaos run: the sample mix once, copies of small documents, and bombs."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

from bench.hostile import make_memory_bomb
from ingestion.core.states import DocumentState
from samples.corpus import Corpus, Expectation, write_corpus
from samples.faults import DocumentFault
from samples.plan import PlannedDocument, plan_corpus
from samples.portal import SiteLimit
from samples.renditions import Rendition

# The limit that each portal enforces. The rows have half of its burst, because a process that was
# frozen between its reservation and its request sends the request late.
PORTAL = SiteLimit(5.0, 10)
TOLD_BURST = 5
BOMBS = 4  # documents that need more memory than a parser may use
SITES = 12


@dataclass(frozen=True, slots=True)
class Offer:
    directory: Path
    manifest: str
    expected: dict[tuple[str, str], Expectation]
    sha256: dict[tuple[str, str], str]  # of the files at the portal

    @property
    def sites(self) -> Path:
        return self.directory / "sites.json"


def write(directory: Path, base_url: str, *, documents: int, seed: int) -> Offer:
    """Write this many documents, no two alike. A small number leaves out scans and faults first."""
    sites = min(SITES, max(1, documents // 14))
    today = datetime.now(UTC).date()
    corpus = write_corpus(directory, base_url=base_url, today=today, seed=seed, sites=sites)
    _limit(corpus)
    lines = [json.loads(line) for line in corpus.manifest.read_text().splitlines()]
    expected = list(map(_from_a_portal, corpus.expectations, plan_corpus(sites)))
    quick = [
        number
        for number, planned in enumerate(plan_corpus(sites))
        if planned.rendition is not Rendition.SCAN
    ]
    del lines[documents - BOMBS :], expected[documents - BOMBS :]
    wanted = documents - BOMBS - len(lines)
    for copy, number in enumerate(islice(cycle(quick), wanted)):
        lines.append(_copy(lines[number], copy, corpus.files))
        expected.append(replace(expected[number], doc_id=lines[-1]["doc_id"]))
    for line, what in _bombs(lines[: len(quick)], corpus.files):
        lines.append(line)
        expected.append(what)
    keys = [(line["site_id"], line["doc_id"]) for line in lines]
    hashes = [_sha256(corpus.files / site / f"{doc_id}.pdf") for site, doc_id in keys]
    return Offer(
        directory,
        "".join(json.dumps(line) + "\n" for line in lines),
        dict(zip(keys, expected, strict=True)),
        dict(zip(keys, hashes, strict=True)),
    )


def _from_a_portal(expected: Expectation, planned: PlannedDocument) -> Expectation:
    """Return the expected outcome at a portal, where a web page counts as its sign-in page."""
    is_page = planned.fault is DocumentFault.A_WEB_PAGE
    return replace(expected, code="DOWNLOAD_FAILED") if is_page else expected


def _limit(corpus: Corpus) -> None:
    rows = json.loads(corpus.sites.read_text())
    for row in rows:
        row["portal"] |= {"rate_per_second": PORTAL.rate_per_second, "burst": TOLD_BURST}
    corpus.sites.write_text(json.dumps(rows))


def _copy(line: dict[str, str], copy: int, files: Path) -> dict[str, str]:
    """Return a copy with other bytes: a comment after the end, which PDF readers ignore."""
    content = (files / line["site_id"] / f"{line['doc_id']}.pdf").read_bytes()
    return _named(line, f"{line['doc_id']}-{copy}", content + b"%%%d\n" % copy, files)


def _bombs(
    lines: Sequence[dict[str, str]], files: Path
) -> Iterator[tuple[dict[str, str], Expectation]]:
    content = make_memory_bomb()
    for number, line in enumerate(islice(cycle(lines), BOMBS)):
        named = _named(line, f"bomb-{number}", content + b"%%%d\n" % number, files)
        refused = DocumentState.REJECTED, "PARSER_FAILURE"
        yield named, Expectation(line["site_id"], named["doc_id"], *refused)


def _named(line: dict[str, str], doc_id: str, content: bytes, files: Path) -> dict[str, str]:
    (files / line["site_id"] / f"{doc_id}.pdf").write_bytes(content)
    url = f"{line['url'].rpartition('/')[0]}/{doc_id}.pdf"
    return {**line, "doc_id": doc_id, "url": url, "sha256": hashlib.sha256(content).hexdigest()}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
