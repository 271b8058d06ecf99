"""Renders the text of an email message as PDF, with the lines of its header that people know.

The same text always gives the same bytes. The fonts of the text are part of reportlab or, for
scripts that these do not have, fonts that PDF viewers have; a character without any font is printed
as its code point, so that a person sees that something is missing.
"""

import html
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Final

import reportlab
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer

MAX_TEXT_CHARACTERS: Final = 200_000  # about 60 pages
TOOL: Final = f"SiteLedger with reportlab {reportlab.Version}"
_SYSTEM_FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
_MARGIN = 54.0  # points
# Fonts of viewers for scripts that the first font does not have, by the characters.
_VIEWER_FONTS = (
    ("HeiseiKakuGo-W5", re.compile(r"[\u3040-\u30ff]")),
    ("HYGothic-Medium", re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("STSong-Light", re.compile(r"[\u2e80-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")),
)
_PIECES = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+|.", re.DOTALL
)
_BLOCKS = frozenset({"p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "table", "blockquote"})
_HIDDEN = frozenset({"style", "script", "head", "title"})


def render_message(headers: Mapping[str, str], text: str) -> bytes:
    """Return a message's header lines and its text as PDF."""
    font = _register_font()
    body = ParagraphStyle("body", fontName="message", fontSize=10, leading=14, splitLongWords=1)
    story = [
        Paragraph(f"{html.escape(name)}: {_markup(value, font)}", body)
        for name, value in headers.items()
        if value
    ]
    story.append(Spacer(1, 14))
    is_cut = len(text) > MAX_TEXT_CHARACTERS
    story += [
        Paragraph(_markup(line, font), body) if line.strip() else Spacer(1, 7)
        for line in text[:MAX_TEXT_CHARACTERS].splitlines()
    ]
    if is_cut:
        story.append(Paragraph("[The text continues in the message.]", body))
    output = BytesIO()
    margins = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), _MARGIN)
    SimpleDocTemplate(output, pagesize=A4, **margins, invariant=1).build(story)
    return output.getvalue()


def extract_text(markup: str) -> str:
    """Return the text of an HTML message, with a line for each block."""
    parser = _TextParser()
    parser.feed(markup)
    parser.close()
    lines = (
        re.sub(r"[ \t\xa0]+", " ", line).strip() for line in "".join(parser.pieces).split("\n")
    )
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _TextParser(HTMLParser):
    """Collects the text of a page, with line breaks where blocks begin and end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _HIDDEN
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        if tag in _BLOCKS and tag != "br":
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(re.sub(r"\s+", " ", data))


def _register_font() -> TTFont:
    """Register the font of the text, and return it: of the system, which has more scripts."""
    try:
        font = TTFont("message", str(_SYSTEM_FONT))
    except (TTFError, OSError):
        font = TTFont("message", "Vera.ttf")
    pdfmetrics.registerFont(font)
    return font


def _markup(text: str, font: TTFont) -> str:
    """Return plain text as markup of a paragraph, with a font for each script."""
    known = font.face.charToGlyph
    result = []
    for piece in _PIECES.findall(text.expandtabs(4)):
        if all(ord(character) in known for character in piece):
            result.append(html.escape(piece))
        elif name := _find_viewer_font(piece):
            pdfmetrics.registerFont(UnicodeCIDFont(name))
            result.append(f'<font name="{name}">{html.escape(piece)}</font>')
        else:
            result.append("".join(f"[U+{ord(character):04X}]" for character in piece))
    return re.sub(r"^ +", lambda indent: "\xa0" * len(indent[0]), "".join(result))


def _find_viewer_font(piece: str) -> str:
    return next((name for name, pattern in _VIEWER_FONTS if pattern.search(piece)), "")
