"""report.pdf: the trail for people to read. The same entries give the same bytes.

Kept in memory up to ROWS entries; beyond that the report has its first page, and says where the
rest is.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, landscape
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import LongTable, Paragraph, SimpleDocTemplate, Spacer, TableStyle

from audit.export.timeline import signature
from audit.export.trail import Line

ROWS = 5_000
TABLE = 500  # rows: a longer table is set in quadratic time
CHANGED = "CHANGED"  # the mark of an entry that changed what was first entered (R12)

# reportlab brings these fonts, so that the report looks the same wherever it is made.
_PLAIN, _BOLD = TTFont("Vera", "Vera.ttf"), TTFont("VeraBd", "VeraBd.ttf")
_TEXT = ParagraphStyle("text", fontName="Vera", fontSize=7, leading=9, splitLongWords=1)
_HEAD = ParagraphStyle("head", _TEXT, fontName="VeraBd", textColor=colors.white)
_TITLE = ParagraphStyle("title", fontName="VeraBd", fontSize=15, leading=20, spaceAfter=8)
_SECTION = ParagraphStyle("section", _TITLE, fontSize=10, leading=14, spaceBefore=12)
_MARGIN = 36.0  # points
_PADDING = 6.0  # of reportlab's frame, within the margin
_WIDTH = landscape(A4)[0] - 2 * (_MARGIN + _PADDING)
_GRID = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.25, colors.grey),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#1f3a5f")),
    ]
)
_FACTS = TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (0, -1), 0)])

Row = Sequence[str]


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
        for font in (_PLAIN, _BOLD):
            pdfmetrics.registerFont(font)
        sheet = SimpleDocTemplate(
            str(path),
            pagesize=landscape(A4),
            **dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), _MARGIN),
            title=f"Audit trail of {manifest['trail']}",
            author=f"SiteLedger {manifest['software']}",
            invariant=1,
        )
        story = [*self._first_page(manifest, verdict, verifier), *self._tables()]
        name = f"{manifest['trail']}, checkpoint of {manifest['size']} entries"
        sheet.build(story, canvasmaker=lambda *args, **options: _Numbered(name, *args, **options))

    def _first_page(
        self, manifest: Mapping[str, Any], verdict: str, verifier: str
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
        yield Paragraph(f"Audit trail of {_shown(manifest['trail'])}", _TITLE)
        rows = [[_cell(name, _bold(_TEXT)), _cell(text)] for name, text in facts.items()]
        yield LongTable(rows, colWidths=[0.18 * _WIDTH, 0.82 * _WIDTH], style=_FACTS)

    def _tables(self) -> Iterator[Any]:
        if self.count > ROWS:
            yield Paragraph("Timeline", _SECTION)
            yield _cell(
                f"{self.count:,} entries are too many to print, and more than {ROWS:,} are not. "
                "All of them are in timeline.csv and in entries.ndjson. Ask for an export of one "
                "document, packet or site to have them printed."
            )
            return
        if self._documents:
            header = ["Site", "Document", "First entered (UTC)", "Entries", "Since it was entered"]
            yield from _section("Documents", header, (0.14, 0.3, 0.16, 0.08, 0.32), self._told())
        if self._signatures:
            header = ["No.", "Printed name", "Signed (UTC)", "Meaning", "Of"]
            yield from _section(
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
        yield from _section("Timeline", header, (0.06, 0.12, 0.17, 0.2, 0.17, 0.28), self._rows)

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


def _section(
    title: str, header: Sequence[str], widths: Sequence[float], rows: Sequence[Row]
) -> Iterator[Any]:
    yield Paragraph(title, _SECTION)
    for start in range(0, len(rows), TABLE):
        cells = [[_cell(text) for text in row] for row in rows[start : start + TABLE]]
        yield LongTable(
            [[_cell(text, _HEAD) for text in header], *cells],
            colWidths=[width * _WIDTH for width in widths],
            repeatRows=1,
            style=_GRID,
        )
    yield Spacer(1, 6)


def _bold(style: ParagraphStyle) -> ParagraphStyle:
    return ParagraphStyle("bold", style, fontName="VeraBd")


def _cell(text: str, style: ParagraphStyle = _TEXT) -> Paragraph:
    return Paragraph(_shown(text), style)


def _shown(text: str) -> str:
    """As the font can print it: what it lacks is named by its code point. The CSV has it all."""
    known = _PLAIN.face.charToGlyph
    printed = "".join(c if c == "\n" or ord(c) in known else f"[U+{ord(c):04X}]" for c in text)
    return html.escape(printed).replace("\n", "<br/>")


class _Numbered(Canvas):  # type: ignore[misc]
    """Knows the number of the last page when it prints that of the first."""

    def __init__(self, name: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._name, self._pages = name, list[dict[str, Any]]()

    def showPage(self) -> None:  # noqa: N802 - reportlab's name
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        for number, page in enumerate(self._pages, start=1):
            self.__dict__.update(page)
            self.setFont("Vera", 7)
            left = _MARGIN + _PADDING
            self.drawString(left, 20, self._name)
            self.drawRightString(left + _WIDTH, 20, f"Page {number} of {len(self._pages)}")
            super().showPage()
        super().save()
