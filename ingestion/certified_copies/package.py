"""The zip file of a certified copy. The same signature and bytes give the same file.

Nothing is compressed, so that no version of a library decides what it looks like; nothing but the
certificate is in memory. What the certificate says of the copy is read back from the package.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import orjson

from audit.export import trail
from audit.export.since import DocumentChanges
from audit.export.trail import LedgerLine
from audit.files import durable
from audit.files.durable import FileDigest
from audit.ledger.chain import expect
from audit.ledger.queries import Recorded
from ingestion.certified_copies import certificate

BLOCK_BYTES = 1 << 20  # bytes
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\:]")  # in the name of a file that is unpacked anywhere
_OF_THE_LINE = ("trail", "site", "doc_id", "sha256", "correlation_id", "rules", "schema_version")


class PackageMismatch(Exception):
    """What came out of the archive, or went into the package, is not what was filed."""


def write_zip(target: IO[bytes], original: IO[bytes], certified: Recorded) -> None:
    """Raises NotTheSame, and BrokenChain for an entry of the document that does not hold."""
    with ZipFile(target, "w") as package:
        add = partial(_add, package, certified.occurred_at)
        last, since = deque[LedgerLine](maxlen=1), DocumentChanges()
        trail_ = add("trail.ndjson", _trail(certified, last, since))
        line = _certification(certified, last)
        facts = _facts(line)
        document = add("document.json", [orjson.dumps(facts, option=_JSON)])
        name = f"original/{_UNFIT.sub('_', facts['file'])}"
        archived = add(name, _blocks(original))
        with package.open(name) as file:
            copy = durable.digest_of_chunks(_blocks(file))
        if not line.fields["sha256"] == archived.sha256 == copy.sha256:
            raise PackageMismatch(certified.subject)
        files = {name: copy, "trail.ndjson": trail_, "document.json": document}
        drawn = certificate.render_certificate(line, facts, archived, files, since=str(since))
        add("certificate.pdf", [drawn])


def _trail(certified: Recorded, last: deque[LedgerLine], since: DocumentChanges) -> Iterator[bytes]:
    """The lines of all versions of the document, up to the one that certifies."""
    for line in trail.read_document_lines(certified.site, certified.doc_id, certified.seq):
        last.append(line)
        since.see(line, orjson.loads(line.detail) if line.detail else {})
        yield line.text.encode() + b"\n"


def _certification(certified: Recorded, last: deque[LedgerLine]) -> LedgerLine:
    found = [line.hash for line in last]
    expect(certified.seq, "it is not among those of its document", [certified.hash], found)
    return last[0]


def _facts(line: LedgerLine) -> dict[str, Any]:
    """As they were when it was signed, whatever the rows say today."""
    said: dict[str, Any] = orjson.loads(line.detail)["document"]
    return {name: line.fields[name] for name in _OF_THE_LINE} | said


def _add(package: ZipFile, at: datetime, name: str, blocks: Iterable[bytes]) -> FileDigest:
    """What was written."""
    info = ZipInfo(name, at.timetuple()[:6])
    info.external_attr = 0o644 << 16
    with package.open(info, "w", force_zip64=True) as member:
        return durable.write_chunks(member, blocks)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(file.read, BLOCK_BYTES), b"")
