"""The file certificate.pdf: what is certified, by whom, and how to check it with `sha256sum`."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import orjson
from reportlab.lib.pagesizes import A4

from audit import electronic_signatures
from audit.export.trail import LedgerLine
from audit.files.durable import FileDigest
from audit.files.pdf_layout import PdfDocument, heading, title

_CHECKS = {
    "The files": "sha256sum original/* trail.ndjson document.json\n"
    "prints the digests of this page if you run it in the unpacked package.",
    "The signature": "tail -n 1 trail.ndjson | tr -d '\\n' | sha256sum\n"
    "prints the head of this page: the last line is the entry of the certification.",
    "The ledger": "python3 verify_trail.py EXPORT --vkey KEY --known HEAD\n"
    "ends with exit code 0 if an export of the whole trail contains this entry, and with 1 if it "
    "does not. Ask the administrator of the trail for an export, and get verify_trail.py from "
    "another source.",
}


def render_certificate(
    line: LedgerLine,
    facts: Mapping[str, Any],
    archived: FileDigest,
    files: Mapping[str, FileDigest],
    *,
    since: str,
) -> bytes:
    """Return the certificate as a PDF.

    `line` is the ledger entry of the certification and `facts` are the facts that were signed.
    `archived` is the digest of the original in the archive, and `files` are the digests that were
    read back from the package. `since` says whether the document was changed since its first
    version was received.
    """
    layout = PdfDocument(
        A4,
        title=f"Certified copy of {facts['doc_id']}, site {facts['site']}",
        author=f"SiteLedger {line.fields['software']}",
        footer=f"{facts['trail']}, entry {line.seq}",
    )
    document = {
        "Document": facts["doc_id"],
        "Type": facts["type"],
        "Site": f"{facts['site']}, {facts['site_name']}",
        "Study": facts["study"],
        "Original file": facts["file"],
        "Packet": facts["packet"],
        "Received": _format_utc(facts["received"]),
        "Filed": _format_utc(facts["filed"]),
        "Since first received": since,
    }
    compared = {
        "As it was filed": FileDigest(facts["sha256"], facts["size"]),
        "Read from the archive": archived,
        **files,
    }
    rows = [(name, each.sha256, f"{each.size:,}") for name, each in compared.items()]
    header, widths = ["File", "SHA-256", "Bytes"], (0.26, 0.6, 0.14)
    record = {
        "Trail": line.fields["trail"],
        "Entry": f"no. {line.seq:,}",
        "Head": f"{line.hash}\nThe hash of this entry, and the trail's head when it was entered.",
    }
    target = BytesIO()
    layout.write(
        target,
        [
            title("Certified copy"),
            layout.facts(document),
            *layout.section("Original and copy", header, widths, rows),
            heading("Signature"),
            layout.facts(_describe_signature(line)),
            heading("On record"),
            layout.facts(record),
            heading("How to check it"),
            layout.facts(_CHECKS),
        ],
    )
    return target.getvalue()


def _describe_signature(line: LedgerLine) -> dict[str, str]:
    """Return printed name, date and time, and meaning of the signature (21 CFR 11.50(a))."""
    detail = orjson.loads(line.detail)
    facts = {
        "Certified by": detail["printed_name"],
        "As": f"{line.fields['role']} ({line.fields['actor']})",
        "Signed": _format_utc(line.fields["occurred_at"]),
        "Meaning": detail["meaning"],
        "Reason": detail["reason"],
    }
    if account := detail.get(electronic_signatures.ACCOUNT_KEY):
        facts["Account"] = account
    # The first entries of an old trail have no signature seal.
    if seal := detail.get("signature"):
        facts["Bound to"] = (
            f"the original by its SHA-256, and these facts by the digest\n{seal['digest']}"
        )
    return facts


def _format_utc(written: str) -> str:
    """Return `2026-08-14T09:31:07.123456Z` as "2026-08-14 09:31:07 UTC"."""
    return f"{written[:10]} {written[11:19]} UTC" if written else ""
