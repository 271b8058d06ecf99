"""report.pdf: the trail for people to read. The same entries give the same bytes.

Kept in memory up to ROWS entries; beyond that the report has its first page, and says where the
rest is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from reportlab.lib.pagesizes import A4, landscape

from audit.export.sheet import Row, Sheet, cell, heading, title
from audit.export.timeline import signature
from audit.export.trail import Line

ROWS = 5_000
CHANGED = "CHANGED"  # the mark of an entry that changed what was first entered (R12)


@dataclass(slots=True)
class _Document:
    """What became of one document since it was first entered."""

    entered: str
    sha256: str = ""
    entries: int = 0
    changed_by: list[int] = field(default_factory=list)


class Report:
    def __init__(self) -> None:
        self.count = 0
        self._rows: list[Row] = []
        self._signatures: list[Row] = []
        self._documents: dict[tuple[str, str], _Document] = {}

    def add(self, line: Line) -> None:
        self.count += 1
        if self.count > ROWS:
            self._rows, self._signatures, self._documents = [], [], {}
            return
        detail = orjson.loads(line.detail) if line.detail else {}
        changes = told_changes(detail)
        mark = CHANGED if self._changed(line, bool(changes)) else ""
        name, meaning = signature(line)
        if meaning:
            about = line.fields["doc_id"] or line.fields["subject"]
            signed = _utc(line.fields["occurred_at"])
            self._signatures.append((str(line.seq), name, signed, meaning, about))
        self._rows.append(_row(line, name, mark, changes))

    def _changed(self, line: Line, has_changes: bool) -> bool:
        """Whether this entry changed what was first entered of its document (Annex 11, 8.2)."""
        fields = line.fields
        if not fields["doc_id"]:
            return False
        key = fields["site"], fields["doc_id"]
        document = self._documents.setdefault(key, _Document(_utc(fields["recorded_at"])))
        document.entries += 1
        document.sha256 = document.sha256 or fields["sha256"]
        is_other = fields["sha256"] not in ("", document.sha256)
        if is_other or has_changes:
            document.changed_by.append(line.seq)
        return is_other or has_changes

    def write(self, path: Path, manifest: Mapping[str, Any], verdict: str, verifier: str) -> None:
        """`verifier`: the SHA-256 of verify_trail.py."""
        sheet = Sheet(
            landscape(A4),
            title=f"Audit trail of {manifest['trail']}",
            author=f"SiteLedger {manifest['software']}",
            footer=f"{manifest['trail']}, checkpoint of {manifest['size']} entries",
        )
        first = self._first_page(sheet, manifest, verdict, verifier)
        sheet.write(path, [*first, *self._tables(sheet)])

    def _first_page(
        self, sheet: Sheet, manifest: Mapping[str, Any], verdict: str, verifier: str
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

    def _tables(self, sheet: Sheet) -> Iterator[Any]:
        if self.count > ROWS:
            yield heading("Timeline")
            yield cell(
                f"{self.count:,} entries are too many to print, and more than {ROWS:,} are not. "
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
            (site, doc_id, document.entered, str(document.entries), _told_changed(document))
            for (site, doc_id), document in self._documents.items()
        ]


def told_changes(detail: Mapping[str, Any]) -> list[str]:
    """The old and the new value of each field that an entry's detail says was changed."""
    changes = detail.get("changes")
    if not isinstance(changes, dict):
        return []
    return [
        f"{name}: {value.get('old')} > {value.get('new')}"
        if isinstance(value, dict)
        else f"{name}: {value}"
        for name, value in changes.items()
    ]


def _told_changed(document: _Document) -> str:
    if not document.changed_by:
        return "not changed"
    return f"{CHANGED} by entry {', '.join(map(str, document.changed_by))}"


def _row(line: Line, name: str, mark: str, changes: list[str]) -> Row:
    fields = line.fields
    move = " > ".join(state for state in (fields["from"], fields["to"]) if state)
    what = [fields["event"], move]
    to_what = [fields["subject"], f"{fields['site']} {fields['doc_id']}".strip()]
    if fields["sha256"]:
        to_what.append(f"SHA-256 {fields['sha256'][:16]}…")
    who = [fields["actor"], fields["role"], name]
    why = [mark, fields["code"], fields["reason_code"], *changes]
    if fields["detail_commit"] and not line.detail:
        why.append("(its detail was taken out on record)")
    cells = ["\n".join(filter(None, cell)) for cell in (what, to_what, who, why)]
    return str(line.seq), _utc(fields["recorded_at"]), *cells


def _utc(text: str) -> str:
    """`2026-08-14T09:31:07.123456Z` as people read it."""
    return f"{text[:10]} {text[11:19]}"


def _told(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in values.items())
