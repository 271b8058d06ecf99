"""Writes report.pdf: the trail for people to read, in the language of the installation.

In the same language, the same entries give the same bytes.

Up to MAX_PRINTED_ENTRIES entries are held in memory. With more, the report has only its first page
and a note that names the files with the entries.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from reportlab.lib.pagesizes import A4, landscape

from audit.export.document_changes import DocumentChanges, list_changes
from audit.export.timeline import format_signature_columns
from audit.export.trail import LedgerLine
from audit.files.pdf_layout import (
    PdfDocument,
    Row,
    make_cell,
    make_heading,
    make_title,
)

MAX_PRINTED_ENTRIES = 5_000


class PdfReport:
    """The report of one package. Add each entry in order, then write the file."""

    def __init__(self) -> None:
        self.count = 0
        self._rows: list[Row] = []
        self._signatures: list[Row] = []
        self._documents: dict[tuple[str, str], tuple[str, DocumentChanges]] = {}

    def add(self, line: LedgerLine) -> None:
        """Count the entry, and add it to the report unless MAX_PRINTED_ENTRIES is exceeded.

        Beyond that number, the report only says that it would be too long.
        """
        self.count += 1
        if self.count > MAX_PRINTED_ENTRIES:
            self._rows, self._signatures, self._documents = [], [], {}
            return
        detail = orjson.loads(line.detail) if line.detail else {}
        is_changed = False
        if line.fields["doc_id"]:
            key = line.fields["site"], line.fields["doc_id"]
            first = _readable_time(line.fields["recorded_at"]), DocumentChanges()
            _first_time, changes = self._documents.setdefault(key, first)
            is_changed = changes.add(line, detail)
        # Marks an entry that changed the data of the first entry.
        mark = _("CHANGED") if is_changed else ""
        name, meaning = format_signature_columns(line)
        if meaning:
            signed_item = line.fields["doc_id"] or line.fields["subject"]
            signed = _readable_time(line.fields["occurred_at"])
            self._signatures.append((str(line.seq), name, signed, meaning, signed_item))
        self._rows.append(_row(line, name, mark, detail))

    def write(self, path: Path, manifest: Mapping[str, Any], verdict: str, verifier: str) -> None:
        """Write the report. `verifier` is the SHA-256 of verify_trail.py."""
        name = _("Audit trail of {trail}").format(trail=manifest["trail"])
        footer = ngettext(
            "{trail}, checkpoint of {n} entry",
            "{trail}, checkpoint of {n} entries",
            manifest["size"],
        )
        sheet = PdfDocument(
            landscape(A4),
            title=name,
            author=f"SiteLedger {manifest['software']}",
            footer=footer.format(trail=manifest["trail"], n=manifest["size"]),
        )
        size = ngettext(
            "{n} entry at this checkpoint", "{n} entries at this checkpoint", manifest["size"]
        )
        facts = {
            _("Trail"): manifest["trail"],
            _("Origin of checkpoints"): manifest["origin"],
            _("Size of the trail"): size.format(n=f"{manifest['size']:,}"),
            _("Head"): manifest["head"],
            _("Root"): manifest["root"],
            _("Verdict"): verdict,
            _("Filters"): _join_values(manifest["filters"]) or _("none: the whole trail"),
            _("Entries here"): _("{n}, from no. {first} to no. {last}").format(
                n=f"{manifest['entries']:,}",
                first=f"{manifest['first_seq']:,}",
                last=f"{manifest['last_seq']:,}",
            ),
            _("Changes of state"): _join_values(manifest["states"]) or _("none"),
            _("Details"): _("{present} here, {redacted} redacted").format(
                present=f"{manifest['details']:,}",
                redacted=f"{manifest['details_taken_out']:,}",
            ),
            "verify_trail.py": f"SHA-256 {verifier}",
            _("Software"): f"SiteLedger {manifest['software']}",
            _("Times"): _("UTC throughout"),
        }
        sheet.write(path, [make_title(name), sheet.facts(facts), *self._tables(sheet)])

    def _tables(self, sheet: PdfDocument) -> Iterator[Any]:
        if self.count > MAX_PRINTED_ENTRIES:
            yield make_heading(_("Timeline"))
            sentence = _(
                "Too many entries to print: {n}. The limit is {limit}. All entries are in "
                "timeline.csv and in entries.ndjson. To print them, request an export of one "
                "document, packet or site."
            )
            yield make_cell(sentence.format(n=f"{self.count:,}", limit=f"{MAX_PRINTED_ENTRIES:,}"))
            return
        if self._documents:
            header = [
                _("Site"),
                _("Document"),
                _("First recorded (UTC)"),
                _("Entries"),
                _("Changed since"),
            ]
            documents: list[Row] = [
                (site, doc_id, first_recorded, str(changes.entries), str(changes))
                for (site, doc_id), (first_recorded, changes) in self._documents.items()
            ]
            widths = (0.14, 0.3, 0.16, 0.08, 0.32)
            yield from sheet.section(_("Documents"), header, widths, documents)
        if self._signatures:
            header = [
                _("No."),
                _("Printed name"),
                _("Signed (UTC)"),
                _("Meaning"),
                _("Signed item"),
            ]
            yield from sheet.section(
                _("Signatures"), header, (0.08, 0.27, 0.18, 0.22, 0.25), self._signatures
            )
        header = [
            _("No."),
            _("Recorded (UTC)"),
            _("Event"),
            _("Subject"),
            _("Actor"),
            _("Reason and changes"),
        ]
        yield from sheet.section(
            _("Timeline"), header, (0.06, 0.12, 0.17, 0.2, 0.17, 0.28), self._rows
        )


def _row(line: LedgerLine, name: str, mark: str, detail: Mapping[str, Any]) -> Row:
    fields = line.fields
    states = " > ".join(state for state in (fields["from"], fields["to"]) if state)
    event = [fields["event"], states]
    subject = [fields["subject"], f"{fields['site']} {fields['doc_id']}".strip()]
    if fields["sha256"]:
        subject.append(f"SHA-256 {fields['sha256'][:16]}…")
    actor = [fields["actor"], fields["role"], name]
    reason = str(detail.get("reason", ""))
    reasons = [mark, fields["code"], fields["reason_code"], reason, *list_changes(detail)]
    if fields["detail_commit"] and not line.detail:
        reasons.append(_("(its detail was redacted)"))
    cells = ["\n".join(filter(None, cell)) for cell in (event, subject, actor, reasons)]
    return str(line.seq), _readable_time(fields["recorded_at"]), *cells


def _readable_time(text: str) -> str:
    """Return `2026-08-14T09:31:07.123456Z` as `2026-08-14 09:31:07`."""
    return f"{text[:10]} {text[11:19]}"


def _join_values(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items())
