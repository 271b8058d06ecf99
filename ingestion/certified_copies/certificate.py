"""Draws certificate.pdf: what is certified, by whom, and how to check it with `sha256sum`.

It is in the language of the installation.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from reportlab.lib.pagesizes import A4

from audit import electronic_signatures
from audit.export.trail import LedgerLine
from audit.files.durable import FileDigest
from audit.files.pdf_layout import PdfDocument, make_heading, make_title

# What is checked, the command, and what it prints.
_CHECKS = [
    (
        gettext_noop("The files"),
        "sha256sum original/* trail.ndjson document.json",
        gettext_noop("prints the digests of this page if you run it in the unpacked package."),
    ),
    (
        gettext_noop("The signature"),
        "tail -n 1 trail.ndjson | tr -d '\\n' | sha256sum",
        gettext_noop(
            "prints the head of this page: the last line is the entry of the certification."
        ),
    ),
    (
        gettext_noop("The ledger"),
        "python3 verify_trail.py EXPORT --vkey KEY --known HEAD",
        gettext_noop(
            "ends with exit code 0 if an export of the whole trail contains this entry, and with 1 "
            "if it does not. Ask the administrator of the trail for an export, and get "
            "verify_trail.py from another source."
        ),
    ),
]


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
        title=_("Certified copy of {document}, site {site}").format(
            document=facts["doc_id"], site=facts["site"]
        ),
        author=f"SiteLedger {line.fields['software']}",
        footer=_("{trail}, entry {seq}").format(trail=facts["trail"], seq=line.seq),
    )
    document = {
        _("Document"): facts["doc_id"],
        _("Type"): facts["type"],
        _("Site"): f"{facts['site']}, {facts['site_name']}",
        _("Study"): facts["study"],
        _("Original file"): facts["file"],
        _("Packet"): facts["packet"],
        _("Received"): _format_utc(facts["received"]),
        _("Filed"): _format_utc(facts["filed"]),
        _("Since first received"): since,
    }
    compared = {
        _("As it was filed"): FileDigest(facts["sha256"], facts["size"]),
        _("Read from the archive"): archived,
        **files,
    }
    rows = [(name, each.sha256, f"{each.size:,}") for name, each in compared.items()]
    header, widths = [_("File"), "SHA-256", _("Bytes")], (0.26, 0.6, 0.14)
    head = _("The hash of this entry, and the trail's head when it was entered.")
    record = {
        _("Trail"): line.fields["trail"],
        _("Entry"): _("no. {seq}").format(seq=f"{line.seq:,}"),
        _("Head"): f"{line.hash}\n{head}",
    }
    checks = {_(name): f"{command}\n{_(result)}" for name, command, result in _CHECKS}
    target = BytesIO()
    layout.write(
        target,
        [
            make_title(_("Certified copy")),
            layout.facts(document),
            *layout.section(_("Original and copy"), header, widths, rows),
            make_heading(_("Signature")),
            layout.facts(_describe_signature(line)),
            make_heading(_("On record")),
            layout.facts(record),
            make_heading(_("How to check it")),
            layout.facts(checks),
        ],
    )
    return target.getvalue()


def _describe_signature(line: LedgerLine) -> dict[str, str]:
    """Return printed name, date and time, and meaning of the signature (21 CFR 11.50(a))."""
    detail = orjson.loads(line.detail)
    facts = {
        _("Certified by"): detail["printed_name"],
        _("As"): f"{line.fields['role']} ({line.fields['actor']})",
        _("Signed"): _format_utc(line.fields["occurred_at"]),
        _("Meaning"): detail["meaning"],
        _("Reason"): detail["reason"],
    }
    if account := detail.get(electronic_signatures.ACCOUNT_KEY):
        facts[_("Account")] = account
    # The first entries of an old trail have no signature seal.
    if seal := detail.get("signature"):
        binding = _("the original by its SHA-256, and these facts by the digest")
        facts[_("Bound to")] = f"{binding}\n{seal['digest']}"
    return facts


def _format_utc(written: str) -> str:
    """Return `2026-08-14T09:31:07.123456Z` as "2026-08-14 09:31:07 UTC"."""
    return f"{written[:10]} {written[11:19]} UTC" if written else ""
