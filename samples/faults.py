"""Defines the faults that a sample document can have, and the expected outcome of each.

Faults of the content are part of `DocumentFacts`. A blank page is inserted before the document is
scanned. Faults of the file are applied last.
"""

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import pikepdf

from ingestion.core.states import DocumentState


class DocumentFault(StrEnum):
    """Lists the faults of documents."""

    UNSIGNED = "unsigned"
    EXPIRED = "expired"  #: an approval, a licence, a CLIA certificate
    WRONG_SITE = "wrong site"  #: a document of another site of the same study
    BLANK_PAGE = "blank page"
    TRUNCATED = "truncated"
    ENCRYPTED = "encrypted"
    A_SPREADSHEET = "a spreadsheet named .pdf"
    A_WEB_PAGE = "a web page named .pdf"


@dataclass(frozen=True, slots=True)
class ExpectedOutcome:
    """`code` is the code of the finding that decides, or "" if there is none."""

    state: DocumentState
    code: str


WITHOUT_FAULT = ExpectedOutcome(DocumentState.ARCHIVED, "")
DELIVERED_AGAIN = ExpectedOutcome(DocumentState.DEDUPED, "DUPLICATE_CONTENT")
OUTCOMES: Mapping[DocumentFault, ExpectedOutcome] = MappingProxyType(
    {
        DocumentFault.UNSIGNED: ExpectedOutcome(DocumentState.REJECTED, "SIGNATURE_MISSING"),
        DocumentFault.EXPIRED: ExpectedOutcome(DocumentState.REJECTED, "EXPIRED_DOCUMENT"),
        DocumentFault.WRONG_SITE: ExpectedOutcome(DocumentState.IN_REVIEW, "SITE_MISMATCH"),
        DocumentFault.BLANK_PAGE: ExpectedOutcome(DocumentState.IN_REVIEW, "BLANK_OR_MISSING_PAGE"),
        DocumentFault.TRUNCATED: ExpectedOutcome(DocumentState.REJECTED, "CORRUPT_DOCUMENT"),
        DocumentFault.ENCRYPTED: ExpectedOutcome(DocumentState.REJECTED, "ENCRYPTED_DOCUMENT"),
        DocumentFault.A_SPREADSHEET: ExpectedOutcome(DocumentState.REJECTED, "UNSUPPORTED_TYPE"),
        DocumentFault.A_WEB_PAGE: ExpectedOutcome(DocumentState.REJECTED, "UNSUPPORTED_TYPE"),
    }
)

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_CELLS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

PASSWORD = "site-only"  # noqa: S105 - of sample files; tests open them with it


def get_expected_outcome(fault: DocumentFault | None) -> ExpectedOutcome:
    """Return the outcome that the product must have for a document with this fault."""
    return OUTCOMES[fault] if fault else WITHOUT_FAULT


def insert_blank_page(content: bytes) -> bytes:
    """Insert a blank page after the first, as when a scanner also scans a back side."""
    with pikepdf.open(io.BytesIO(content)) as document:
        size = document.pages[0].mediabox
        document.add_blank_page(page_size=(float(size[2]), float(size[3])))
        document.pages.insert(1, document.pages[-1])
        del document.pages[-1]
        output = io.BytesIO()
        document.save(output, deterministic_id=True)
        return output.getvalue()


def spoil_file(content: bytes, fault: DocumentFault | None) -> bytes:
    """Return the bytes as they are delivered. Only faults of the file change them."""
    spoil = _FILE_FAULTS.get(fault) if fault else None
    return spoil(content) if spoil else content


def _truncate(content: bytes) -> bytes:
    """Cut the file before its first page is complete, so that nothing can be repaired."""
    return content[: len(content) // 4]


def _encrypt(content: bytes) -> bytes:
    # RC4, because AES uses a random vector, so that the bytes would differ in each run.
    encryption = pikepdf.Encryption(
        user=PASSWORD, owner=f"{PASSWORD}-owner", R=3, aes=False, metadata=False
    )
    with pikepdf.open(io.BytesIO(content)) as document:
        output = io.BytesIO()
        document.save(output, encryption=encryption, static_id=True)
        return output.getvalue()


def _make_spreadsheet(_: bytes) -> bytes:
    """Return the smallest package that a spreadsheet program opens."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.'
        'openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1"'
        f' Type="{_OFFICE}/relationships/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_CELLS}"><!-- SPECIMEN --><sheets/></workbook>',
    }
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as package:
        for name, part in parts.items():
            # The default time of ZipInfo is 1980, so that the bytes are the same in each run.
            package.writestr(zipfile.ZipInfo(name), f'<?xml version="1.0"?>{part}')
    return output.getvalue()


def _make_web_page(_: bytes) -> bytes:
    """Return the sign-in page that a portal serves after a session has ended."""
    return (
        b"<!DOCTYPE html>\n<html><head><title>Sign in (SPECIMEN)</title></head>\n"
        b"<body><h1>Your session has ended</h1><p>Please sign in to the document portal.</p></body>"
        b"</html>\n"
    )


_FILE_FAULTS: Mapping[DocumentFault, Callable[[bytes], bytes]] = MappingProxyType(
    {
        DocumentFault.TRUNCATED: _truncate,
        DocumentFault.ENCRYPTED: _encrypt,
        DocumentFault.A_SPREADSHEET: _make_spreadsheet,
        DocumentFault.A_WEB_PAGE: _make_web_page,
    }
)
