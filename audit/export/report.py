"""report.pdf: the trail for people to read. The same entries give the same bytes.

Kept in memory up to ROWS entries; beyond that the report has its first page, and says where the
rest is.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from reportlab.lib.pagesizes import A4, landscape

from audit.export.since import CHANGED, DocumentChanges, list_changes
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
        mark = CHANGED if self._changed(line, detail) else ""
        name, meaning = signature_columns(line)
        if meaning:
            about = line.fields["doc_id"] or line.fields["subject"]
            signed = _utc(line.fields["occurred_at"])
            self._signatures.append((str(line.seq), name, signed, meaning, about))
        self._rows.append(_row(line, name, mark, detail))

    def _changed(self, line: LedgerLine, detail: Mapping[str, Any]) -> bool:
        fields = line.fields
        if not fields["doc_id"]:
            return False
        key = fields["site"], fields["doc_id"]
        _, since = self._documents.setdefault(key, (_utc(fields["recorded_at"]), DocumentChanges()))
        return since.see(line, detail)

    def write(self, path: Path, manifest: Mapping[str, Any], verdict: str, verifier: str) -> None:
        """`verifier`: the SHA-256 of verify_trail.py."""
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
            "Filters": _told(manifest["filters"]) or "none: the whole trail",
            "Entries here": f"{manifest['entries']:,}, from no. {manifest['first_seq']:,} "
            f"to no. {manifest['last_seq']:,}",
            "Moves into states": _told(manifest["states"]) or "none",
            "Details": f"{manifest['details']:,} here, {manifest['details_taken_out']:,} "
            "taken out on record",
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
                "All of them are in timeline.csv and in entries.ndjson. Ask for an export of one "
                "document, packet or site to have them printed."
            )
            return
        if self._documents:
            header = ["Site", "Document", "First entered (UTC)", "Entries", "Since it was entered"]
            yield from sheet.section(
                "Documents", header, (0.14, 0.3, 0.16, 0.08, 0.32), self._told()
            )
        if self._signatures:
            header = ["No.", "Printed name", "Signed (UTC)", "Meaning", "Of"]
            yield from sheet.section(
                "Signatures", header, (0.08, 0.27, 0.18, 0.22, 0.25), self._signatures
            )
        header = [
            "No.",
            "Recorded (UTC)",
            "What happened",
            "To what",
            "Who",
            "Why, and what changed",
        ]
        yield from sheet.section(
            "Timeline", header, (0.06, 0.12, 0.17, 0.2, 0.17, 0.28), self._rows
        )

    def _told(self) -> list[Row]:
        return [
            (site, doc_id, entered, str(since.entries), str(since))
            for (site, doc_id), (entered, since) in self._documents.items()
        ]


def _row(line: LedgerLine, name: str, mark: str, detail: Mapping[str, Any]) -> Row:
    fields = line.fields
    move = " > ".join(state for state in (fields["from"], fields["to"]) if state)
    what = [fields["event"], move]
    to_what = [fields["subject"], f"{fields['site']} {fields['doc_id']}".strip()]
    if fields["sha256"]:
        to_what.append(f"SHA-256 {fields['sha256'][:16]}…")
    who = [fields["actor"], fields["role"], name]
    reason = str(detail.get("reason", ""))
    why = [mark, fields["code"], fields["reason_code"], reason, *list_changes(detail)]
    if fields["detail_commit"] and not line.detail:
        why.append("(its detail was taken out on record)")
    cells = ["\n".join(filter(None, cell)) for cell in (what, to_what, who, why)]
    return str(line.seq), _utc(fields["recorded_at"]), *cells


def _utc(text: str) -> str:
    """`2026-08-14T09:31:07.123456Z` as people read it."""
    return f"{text[:10]} {text[11:19]}"


def _told(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items())
