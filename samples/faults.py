"""What can be wrong with a document, and what has to become of it then.

Faults of content are in the dossier, a blank page is put in before the paper is scanned, and faults
of the file are made last.
"""

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import pikepdf

from ingestion.core.states import DocumentState


class Fault(StrEnum):
    UNSIGNED = "unsigned"
    EXPIRED = "expired"  #: an approval, a licence, a CLIA certificate
    WRONG_SITE = "wrong site"  #: a neighbour's document among this site's
    BLANK_PAGE = "blank page"
    TRUNCATED = "truncated"
    ENCRYPTED = "encrypted"
    A_WORD_FILE = "a Word file named .pdf"
    A_WEB_PAGE = "a web page named .pdf"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`code` is the primary finding; "" when there is none that decides."""

    state: DocumentState
    code: str


SOUND = Outcome(DocumentState.ARCHIVED, "")
DELIVERED_AGAIN = Outcome(DocumentState.DEDUPED, "DUPLICATE_CONTENT")
OUTCOMES: Mapping[Fault, Outcome] = MappingProxyType(
    {
        Fault.UNSIGNED: Outcome(DocumentState.REJECTED, "SIGNATURE_MISSING"),
        Fault.EXPIRED: Outcome(DocumentState.REJECTED, "EXPIRED_DOCUMENT"),
        Fault.WRONG_SITE: Outcome(DocumentState.IN_REVIEW, "SITE_MISMATCH"),
        Fault.BLANK_PAGE: Outcome(DocumentState.IN_REVIEW, "BLANK_OR_MISSING_PAGE"),
        Fault.TRUNCATED: Outcome(DocumentState.REJECTED, "CORRUPT_DOCUMENT"),
        Fault.ENCRYPTED: Outcome(DocumentState.REJECTED, "ENCRYPTED_DOCUMENT"),
        Fault.A_WORD_FILE: Outcome(DocumentState.REJECTED, "UNSUPPORTED_TYPE"),
        Fault.A_WEB_PAGE: Outcome(DocumentState.REJECTED, "UNSUPPORTED_TYPE"),
    }
)

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

PASSWORD = "site-only"  # noqa: S105 - of a specimen; tests open it to see that the rest is sound


def expected(fault: Fault | None) -> Outcome:
    return OUTCOMES[fault] if fault else SOUND


def with_blank_page(content: bytes) -> bytes:
    """After the first page, as when a scanner takes in two sheets, or a back side, at once."""
    with pikepdf.open(io.BytesIO(content)) as document:
        size = document.pages[0].mediabox
        document.add_blank_page(page_size=(float(size[2]), float(size[3])))
        document.pages.insert(1, document.pages[-1])
        del document.pages[-1]
        return _saved(document)


def spoil_file(content: bytes, fault: Fault | None) -> bytes:
    """The bytes as they are delivered; unchanged for a fault that is not one of the file."""
    spoil = _OF_THE_FILE.get(fault) if fault else None
    return spoil(content) if spoil else content


def _truncated(content: bytes) -> bytes:
    """Cut before the first page is complete: no repair brings any of it back."""
    return content[: len(content) // 4]


def _encrypted(content: bytes) -> bytes:
    # RC4 on purpose: AES draws a random vector, and the bytes would differ from run to run.
    lock = pikepdf.Encryption(
        user=PASSWORD, owner=f"{PASSWORD}-owner", R=3, aes=False, metadata=False
    )
    with pikepdf.open(io.BytesIO(content)) as document:
        output = io.BytesIO()
        document.save(output, encryption=lock, static_id=True)
        return output.getvalue()


def _word_file(_: bytes) -> bytes:
    """The smallest package that a word processor opens."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        'relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.'
        'openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1"'
        f' Type="{_OFFICE}/relationships/officeDocument" Target="word/document.xml"/>'
        "</Relationships>",
        "word/document.xml": f'<w:document xmlns:w="{_WORDS}"><w:body><w:p><w:r><w:t>SPECIMEN -'
        " still to be printed and signed</w:t></w:r></w:p></w:body></w:document>",
    }
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as package:
        for name, part in parts.items():
            # ZipInfo's default time is 1980: the bytes must not tell when they were made.
            package.writestr(zipfile.ZipInfo(name), f'<?xml version="1.0"?>{part}')
    return output.getvalue()


def _web_page(_: bytes) -> bytes:
    """What a portal serves in place of the document when a session has ended."""
    return (
        b"<!DOCTYPE html>\n<html><head><title>Sign in (SPECIMEN)</title></head>\n"
        b"<body><h1>Your session has ended</h1><p>Please sign in to the document portal.</p></body>"
        b"</html>\n"
    )


_OF_THE_FILE: Mapping[Fault, Callable[[bytes], bytes]] = MappingProxyType(
    {
        Fault.TRUNCATED: _truncated,
        Fault.ENCRYPTED: _encrypted,
        Fault.A_WORD_FILE: _word_file,
        Fault.A_WEB_PAGE: _web_page,
    }
)


def _saved(document: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    document.save(output, deterministic_id=True)
    return output.getvalue()
