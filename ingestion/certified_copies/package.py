"""Writes the zip package of a certified copy.

In the same language, the same signature and bytes always give the same package.
Nothing is compressed, so that the result does not depend on the version of a library. Only the
certificate is held in memory. The digests that the certificate prints are read back from the
package.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import orjson
from django.utils.translation import gettext_noop

from audit.export import trail
from audit.export.document_changes import DocumentChanges
from audit.export.trail import LedgerLine
from audit.files import durable
from audit.files.durable import FileDigest
from audit.ledger.chain import expect
from audit.ledger.queries import Recorded

BLOCK_BYTES = 1 << 20  # bytes that are read at a time
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
# Characters that a file name must not have, because the package may be unpacked on any system.
_UNSAFE_CHARACTERS = re.compile(r"[\x00-\x1f\x7f/\\:]")
# Fields of the ledger entry that document.json repeats.
_ENTRY_FIELDS = ("trail", "site", "doc_id", "sha256", "correlation_id", "rules", "schema_version")


class PackageMismatch(Exception):
    """The bytes from the archive, or in the package, are not those that were filed."""


def write_zip(target: IO[bytes], original: IO[bytes], certified: Recorded) -> None:
    """Write the package of a signed certification to `target`.

    Raises PackageMismatch if the original was changed, and BrokenChain if the hash chain of the
    document's entries is broken or does not end with the certification.
    """
    with ZipFile(target, "w") as package:
        add = partial(_add_file, package, certified.occurred_at)
        last, changes = deque[LedgerLine](maxlen=1), DocumentChanges()
        trail_digest = add("trail.ndjson", _read_trail(certified, last, changes))
        expect(
            certified.seq,
            gettext_noop("it is not among those of its document"),
            [certified.hash],
            [line.hash for line in last],
        )
        line = last[0]
        # The facts are those that were signed. The rows may have changed since.
        facts: dict[str, Any] = {name: line.fields[name] for name in _ENTRY_FIELDS}
        facts |= orjson.loads(line.detail)["document"]
        document_digest = add("document.json", [orjson.dumps(facts, option=_JSON)])
        name = f"original/{_UNSAFE_CHARACTERS.sub('_', facts['file'])}"
        archived = add(name, _read_blocks(original))
        with package.open(name) as file:
            copy = durable.hash_chunks(_read_blocks(file))
        if not line.fields["sha256"] == archived.sha256 == copy.sha256:
            raise PackageMismatch(certified.subject)
        files = {name: copy, "trail.ndjson": trail_digest, "document.json": document_digest}
        # Commands that write no PDF start faster without the library that lays it out.
        from ingestion.certified_copies import certificate  # noqa: PLC0415 - as stated above

        pdf = certificate.render_certificate(line, facts, archived, files, since=str(changes))
        add("certificate.pdf", [pdf])


def _read_trail(
    certified: Recorded, last: deque[LedgerLine], changes: DocumentChanges
) -> Iterator[bytes]:
    """Yield the ledger lines of all versions of the document, up to the certification.

    Each line is also passed on to `last` and `changes`.
    """
    for line in trail.read_document_lines(certified.site, certified.doc_id, certified.seq):
        last.append(line)
        changes.add(line, orjson.loads(line.detail) if line.detail else {})
        yield line.text.encode() + b"\n"


def _add_file(package: ZipFile, at: datetime, name: str, blocks: Iterable[bytes]) -> FileDigest:
    """Add a file to the package, and return the digest of the bytes that were written."""
    info = ZipInfo(name, at.timetuple()[:6])
    info.external_attr = 0o644 << 16
    with package.open(info, "w", force_zip64=True) as member:
        return durable.write_chunks(member, blocks)


def _read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(file.read, BLOCK_BYTES), b"")
