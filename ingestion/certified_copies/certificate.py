"""certificate.pdf: what is certified, by whom, and how anybody checks it with `sha256sum`."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import orjson
from reportlab.lib.pagesizes import A4

from audit import electronic_signatures
from audit.export.trail import LedgerLine
from audit.files.durable import FileDigest
from audit.files.pdf_layout import PdfDocument, heading, title


def render_certificate(
    line: LedgerLine,
    facts: Mapping[str, Any],
    archived: FileDigest,
    files: Mapping[str, FileDigest],
    *,
    since: str,
) -> bytes:
    """`line` certifies; `archived` is the original, `files` what the package holds, read back.

    `since`: whether the document was changed since it was first received, in any version.
    """
    sheet = PdfDocument(
        A4,
        title=f"Certified copy of {facts['doc_id']}, site {facts['site']}",
        author=f"SiteLedger {line.fields['software']}",
        footer=f"{facts['trail']}, entry {line.seq}",
    )
    target = BytesIO()
    known = {**_document(facts), "Since first received": since}
    compared = {
        "As it was filed": FileDigest(facts["sha256"], facts["size"]),
        "Read from the archive": archived,
        **files,
    }
    sheet.write(target, _story(sheet, line, known, compared))
    return target.getvalue()


def _story(
    sheet: PdfDocument,
    line: LedgerLine,
    known: Mapping[str, str],
    compared: Mapping[str, FileDigest],
) -> Iterator[Any]:
    yield title("Certified copy")
    yield sheet.facts(known)
    rows = [(name, each.sha256, f"{each.size:,}") for name, each in compared.items()]
    header = ["File", "SHA-256", "Bytes"]
    yield from sheet.section("Original and copy", header, (0.26, 0.6, 0.14), rows)
    yield heading("Signature")
    yield sheet.facts(_signature(line))
    yield heading("On record")
    yield sheet.facts(_record(line))
    yield heading("How to check it")
    yield sheet.facts(_checks())


def _document(facts: Mapping[str, Any]) -> dict[str, str]:
    return {
        "Document": facts["doc_id"],
        "Type": facts["type"],
        "Site": f"{facts['site']}, {facts['site_name']}",
        "Study": facts["study"],
        "Original file": facts["file"],
        "Packet": facts["packet"],
        "Received": _utc(facts["received"]),
        "Filed": _utc(facts["filed"]),
    }


def _signature(line: LedgerLine) -> dict[str, str]:
    """21 CFR 11.50(a): printed name, date and time, meaning."""
    detail = orjson.loads(line.detail)
    shown = {
        "Certified by": detail["printed_name"],
        "As": f"{line.fields['role']} ({line.fields['actor']})",
        "Signed": _utc(line.fields["occurred_at"]),
        "Meaning": detail["meaning"],
        "Reason": detail["reason"],
    }
    if account := detail.get(electronic_signatures.ACCOUNT_KEY):
        shown["Account"] = account
    if seal := detail.get("signature"):  # not in the first entries of an old trail
        bound = f"the original by its SHA-256, and these facts by the digest\n{seal['digest']}"
        shown["Bound to"] = bound
    return shown


def _record(line: LedgerLine) -> dict[str, str]:
    return {
        "Trail": line.fields["trail"],
        "Entry": f"no. {line.seq:,}",
        "Head": f"{line.hash}\nThe hash of this entry, and the trail's head when it was entered.",
    }


def _checks() -> dict[str, str]:
    return {
        "The files": "sha256sum original/* trail.ndjson document.json\n"
        "prints the sums of this page, where the package is unpacked.",
        "The signature": "tail -n 1 trail.ndjson | tr -d '\\n' | sha256sum\n"
        "prints the head of this page: the last line is the entry that certifies.",
        "The ledger": "python3 verify_trail.py EXPORT --vkey KEY --known HEAD\n"
        "ends with exit code 0 if an export of the whole trail has this entry, and with 1 if it "
        "has not. Ask whoever keeps the trail for one, and take verify_trail.py from elsewhere.",
    }


def _utc(written: str) -> str:
    """`2026-08-14T09:31:07.123456Z` as people read it."""
    return f"{written[:10]} {written[11:19]} UTC" if written else ""
