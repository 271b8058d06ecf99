"""Writes report.pdf: the trail for people to read. The same entries give the same bytes.

Up to MAX_PRINTED_ENTRIES entries are held in memory. With more, the report has only its first page
and a note that names the files with the entries.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from reportlab.lib.pagesizes import A4, landscape

from audit.export.document_changes import CHANGED, DocumentChanges, list_changes
from audit.export.timeline import signature_columns
from audit.export.trail import LedgerLine
from audit.files.pdf_layout import (
    PdfDocument,
    Row,
    cell,
    heading,
    title,
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
        self.count += 1
        if self.count > MAX_PRINTED_ENTRIES:
            self._rows, self._signatures, self._documents = [], [], {}
            return
        detail = orjson.loads(line.detail) if line.detail else {}
        is_changed = False
        if line.fields["doc_id"]:
            key = line.fields["site"], line.fields["doc_id"]
            first = _readable_time(line.fields["recorded_at"]), DocumentChanges()
            _, changes = self._documents.setdefault(key, first)
            is_changed = changes.add(line, detail)
        mark = CHANGED if is_changed else ""
        name, meaning = signature_columns(line)
        if meaning:
            signed_item = line.fields["doc_id"] or line.fields["subject"]
            signed = _readable_time(line.fields["occurred_at"])
            self._signatures.append((str(line.seq), name, signed, meaning, signed_item))
        self._rows.append(_row(line, name, mark, detail))

    def write(self, path: Path, manifest: Mapping[str, Any], verdict: str, verifier: str) -> None:
        """Write the report. `verifier` is the SHA-256 of verify_trail.py."""
        sheet = PdfDocument(
            landscape(A4),
            title=f"Audit trail of {manifest['trail']}",
            author=f"SiteLedger {manifest['software']}",
            footer=f"{manifest['trail']}, checkpoint of {manifest['size']} entries",
        )
        first = self._first_page(sheet, manifest, verdict, verifier)
        sheet.write(path, [*first, *self._tables(sheet)])

    def _first_page(
        self, sheet: PdfDocument, manifest: Mapping[str, Any], verdict: str, verifier: str
    ) -> Iterator[Any]:
        facts = {
            "Trail": manifest["trail"],
            "Origin of checkpoints": manifest["origin"],
            "Size of the trail": f"{manifest['size']:,} entries at this checkpoint",
            "Head": manifest["head"],
            "Root": manifest["root"],
            "Verdict": verdict,
            "Filters": _join_values(manifest["filters"]) or "none: the whole trail",
            "Entries here": f"{manifest['entries']:,}, from no. {manifest['first_seq']:,} "
            f"to no. {manifest['last_seq']:,}",
            "Changes of state": _join_values(manifest["states"]) or "none",
            "Details": f"{manifest['details']:,} here, {manifest['details_taken_out']:,} redacted",
            "verify_trail.py": f"SHA-256 {verifier}",
            "Software": f"SiteLedger {manifest['software']}",
            "Times": "UTC throughout",
        }
        yield title(f"Audit trail of {manifest['trail']}")
        yield sheet.facts(facts)

    def _tables(self, sheet: PdfDocument) -> Iterator[Any]:
        if self.count > MAX_PRINTED_ENTRIES:
            yield heading("Timeline")
            yield cell(
                f"{self.count:,} entries are too many to print: the limit is "
                f"{MAX_PRINTED_ENTRIES:,}. "
                "All of them are in timeline.csv and in entries.ndjson. To print them, request an "
                "export of one document, packet or site."
            )
            return
        if self._documents:
            header = ["Site", "Document", "First recorded (UTC)", "Entries", "Changed since"]
            documents: list[Row] = [
                (site, doc_id, first_recorded, str(changes.entries), str(changes))
                for (site, doc_id), (first_recorded, changes) in self._documents.items()
            ]
            yield from sheet.section("Documents", header, (0.14, 0.3, 0.16, 0.08, 0.32), documents)
        if self._signatures:
            header = ["No.", "Printed name", "Signed (UTC)", "Meaning", "Signed item"]
            yield from sheet.section(
                "Signatures", header, (0.08, 0.27, 0.18, 0.22, 0.25), self._signatures
            )
        header = [
            "No.",
            "Recorded (UTC)",
            "Event",
            "Subject",
            "Actor",
            "Reason and changes",
        ]
        yield from sheet.section(
            "Timeline", header, (0.06, 0.12, 0.17, 0.2, 0.17, 0.28), self._rows
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
        reasons.append("(its detail was redacted)")
    cells = ["\n".join(filter(None, cell)) for cell in (event, subject, actor, reasons)]
    return str(line.seq), _readable_time(fields["recorded_at"]), *cells


def _readable_time(text: str) -> str:
    """Return `2026-08-14T09:31:07.123456Z` as `2026-08-14 09:31:07`."""
    return f"{text[:10]} {text[11:19]}"


def _join_values(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items())
