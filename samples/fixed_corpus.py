"""Writes a fixed corpus of 500 documents: the sample corpus, and copies with different bytes.

The files are made from a seed when they are needed and compared with the digest below. Another
version of a drawing library may produce other bytes; the digest then differs and callers report it.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from samples.corpus import write_corpus
from samples.pages import PAGES
from samples.people_and_sites import SITES
from samples.plan import plan_corpus
from samples.renditions import Rendition

DAY, SEED, DOCUMENTS = date(2026, 11, 20), 2026, 500
SHA256 = "d57b18db6a37dde660d19560e6219213afecaaa5bd31e95491e509e70841967b"


@dataclass(frozen=True, slots=True)
class FixedCorpus:
    """Contains the sites and the manifest of the fixed corpus, and the digest of its files."""

    sites: list[dict[str, Any]]  # for `manage.py load_sites`
    manifest: str  # NDJSON
    sha256: str  # over the site, doc_id and hash of each document, in order


def write_fixed_corpus(
    directory: Path,
    base_url: str,
    *,
    documents: int = DOCUMENTS,
    sites: int = len(SITES),
    has_scans: bool = True,
) -> FixedCorpus:
    """Write the first `documents` documents of the corpus for a portal at `base_url`.

    They belong to at most `sites` sites. Scans are not copied, because reading them takes long.
    Without scans, these documents are born digital.
    """
    sites = min(sites, math.ceil(documents / len(PAGES)))
    corpus = write_corpus(
        directory, base_url=base_url, today=DAY, seed=SEED, sites=sites, has_scans=has_scans
    )
    lines = [json.loads(line) for line in corpus.manifest.read_text().splitlines()]
    quick = [
        line
        for line, document in zip(lines, plan_corpus(sites, has_scans=has_scans), strict=True)
        if document.rendition is not Rendition.SCAN
    ]
    selected = [*lines, *_make_copies(quick, corpus.files, documents - len(lines))][:documents]
    listed = (
        f"{line['site_id']} {line['doc_id']} {_hash_file(corpus.files, line)}\n"
        for line in selected
    )
    return FixedCorpus(
        json.loads(corpus.sites.read_text()),
        "".join(json.dumps(line) + "\n" for line in selected),
        hashlib.sha256("".join(listed).encode()).hexdigest(),
    )


def _make_copies(lines: list[dict[str, str]], files: Path, count: int) -> Iterator[dict[str, str]]:
    """Yield lines of copies. Each copy has a comment after the end, which PDF readers ignore."""
    for copy, line in enumerate(islice(cycle(lines), max(0, count))):
        doc_id = f"{line['doc_id']}-{copy}"
        content = (files / line["site_id"] / f"{line['doc_id']}.pdf").read_bytes()
        (files / line["site_id"] / f"{doc_id}.pdf").write_bytes(content + b"%%%d\n" % copy)
        url = f"{line['url'].rpartition('/')[0]}/{doc_id}.pdf"
        kept = {name: value for name, value in line.items() if name != "sha256"}
        yield {**kept, "doc_id": doc_id, "url": url}


def _hash_file(files: Path, line: dict[str, str]) -> str:
    content = (files / line["site_id"] / f"{line['doc_id']}.pdf").read_bytes()
    return hashlib.sha256(content).hexdigest()
