"""Make a specimen of a document type: its PDF, and the truth about it."""

import io
import random
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reportlab.lib.pagesizes import A4, LETTER, landscape
from reportlab.platypus import SimpleDocTemplate

from samples.layouts.markup import Typography, make_flowables
from samples.layouts.standard import make_standard
from samples.layouts.values import TODAY, Person, Values, make_values, print_date
from samples.pages import PAGES

OTHER = "other"  # in the place of a type: documents of no type
STANDARD = "standard"  # the layout of the sample corpus, which ten types have
_TEXTS = Path(__file__).with_name("texts")
_PLACEHOLDER = re.compile(r"\{(\w+)(?::([\w ./]+))?\}")
_DRAWN_NAME = re.compile(r"(?m)^@hand .*|~\{.*?\}")  # a signature, whose name is not printed
NOTICE = "SPECIMEN - fictitious"  # at the lower edge of each page
# Values that documents call by the name of another field.
_FIELD_NAMES = {
    "determination_date": "approval_date",
    "course_expiry": "expiry_date",
    "two_years": "expiry_date",
    "batch_expiry": "expiry_date",
}
# Forms of a name that do not show all of it.
_PARTIAL_NAMES = frozenset({"last", "drlast", "first", "initials", "mail", "user"})
_PARTIAL_DATES = frozenset({"my", "y"})


@dataclass(frozen=True, slots=True)
class Specimen:
    """A document and what is true of it."""

    slug: str  # of the document type
    layout: str
    seed: int | str
    content: bytes  # the PDF
    values: Mapping[str, str]  # by the names of fields, as printed
    days: Mapping[str, date]  # the same for values that are dates


@dataclass(frozen=True, slots=True)
class Layout:
    """The text of a layout with its options."""

    text: str
    options: Mapping[str, str]


@cache
def _read_layouts() -> Mapping[str, Mapping[str, Layout]]:
    layouts: dict[str, dict[str, Layout]] = {slug: {} for slug in PAGES}
    for path in sorted(_TEXTS.glob("*.layout")):
        own = layouts.setdefault(path.stem, {})
        for part in re.split(r"(?m)^== ", path.read_text(encoding="utf-8"))[1:]:
            head, _, text = part.partition("\n")
            name, *options = shlex.split(head)
            own[name] = Layout(text, dict(each.split("=", 1) for each in options))
    return layouts


# The ids of the layouts of each type.
LAYOUTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        slug: (*((STANDARD,) if slug in PAGES else ()), *own)
        for slug, own in _read_layouts().items()
        if slug != OTHER
    }
)
OTHER_LAYOUTS = tuple(_read_layouts()[OTHER])


def make_specimen(
    slug: str,
    layout: str,
    seed: int = 0,
    *,
    today: date = TODAY,
    extend: Callable[[str], str] = str,
    more_options: Mapping[str, str] = MappingProxyType({}),
) -> Specimen:
    """Return a specimen of a document type, or of OTHER, in a layout. It is valid at `today`.

    The same arguments give the same bytes. Specimens of the same seed and country are of the same
    site. `extend` returns the text of the layout with changes, such as further pages, and
    `more_options` replace options of the layout; neither applies to STANDARD. Raises KeyError if
    the type has no such layout (see LAYOUTS and OTHER_LAYOUTS).
    """
    if layout == STANDARD and slug in PAGES:
        return Specimen(slug, layout, seed, *make_standard(slug, seed, today))
    chosen = _read_layouts()[slug][layout]
    options = {**chosen.options, **more_options}
    values = make_values(seed, options.get("country", ""), today)
    printed = _Printed(values, options.get("dates", ""))
    drawn = _Printed(values, "")
    text = _DRAWN_NAME.sub(
        lambda match: _PLACEHOLDER.sub(drawn.replace, match[0]), extend(chosen.text)
    )
    text = _PLACEHOLDER.sub(printed.replace, text)
    content = typeset(text, options, values, f"{slug} {layout} {seed}")
    return Specimen(slug, layout, seed, content, printed.values(), printed.days)


class _Printed:
    """Replaces placeholders, and remembers what it printed."""

    def __init__(self, source: Values, style: str) -> None:
        self.source, self.style = source, style or str(source["date_style"])
        self.found: dict[str, str] = {}
        self.days: dict[str, date] = {}

    def replace(self, match: re.Match[str]) -> str:
        """Return the text for a placeholder such as `{approval_date}` or `{investigator:dr}`."""
        name, form = match[1], match[2] or ""
        value, field = self.source[name], _FIELD_NAMES.get(name, name)
        is_whole = form not in _PARTIAL_NAMES | _PARTIAL_DATES
        if isinstance(value, date):
            text = print_date(value, form or self.style)
            if is_whole:
                self.days[field] = value
        else:
            text = value.printed(form) if isinstance(value, Person) else value
        if is_whole:
            self.found.setdefault(field, text)
        return text

    def values(self) -> Mapping[str, str]:
        """Return the values that were printed, with the people of a list together."""
        staff = [text for name, text in self.found.items() if name.startswith("staff")]
        return {**self.found, **({"persons": "; ".join(staff)} if staff else {})}


def typeset(text: str, options: Mapping[str, str], values: Values, seed: str) -> bytes:
    """Return the PDF of the text of a layout with its options."""
    rng = random.Random(f"typography {seed}")
    typography = Typography(
        options.get("font") or rng.choice(("times", "helvetica")),
        float(options.get("size", 10.5)),
        seed,
        options.get("titles", "centre"),
    )
    size = LETTER if options.get("paper", values["paper"]) == "letter" else A4
    if "landscape" in options:
        size = landscape(size)
    margin = float(options.get("margin", 60))
    decorate = partial(_decorate, options=options, values=values, size=size, margin=margin)
    output = io.BytesIO()
    template = SimpleDocTemplate(
        output,
        pagesize=size,
        leftMargin=margin,
        rightMargin=margin,
        topMargin=min(margin, 54),
        bottomMargin=50,
        title="SPECIMEN",
        author="SiteLedger sample generator",
        invariant=1,
    )
    width = size[0] - 2 * margin - 12  # the frame has a padding
    template.build(
        make_flowables(text, typography, width), onFirstPage=decorate, onLaterPages=decorate
    )
    return output.getvalue()


def _decorate(
    canvas: Any,
    _: Any,
    *,
    options: Mapping[str, str],
    values: Values,
    size: tuple[float, float],
    margin: float,
) -> None:
    """Draw what is outside of the text of a page: notice, footer, header and frame."""

    def fill_in(line: str, number: int) -> str:
        printed = _Printed(values, options.get("dates", ""))
        return _PLACEHOLDER.sub(printed.replace, line).replace("#", str(number))

    number = canvas.getPageNumber()
    canvas.saveState()
    canvas.setFillGray(0.75)
    canvas.setFont("Helvetica", 5)
    canvas.drawRightString(size[0] - 20, 10, NOTICE)
    canvas.setFillGray(0.2)
    canvas.setFont("Helvetica", 7.5)
    if footer := options.get("footer", ""):
        canvas.drawCentredString(size[0] / 2, 26, fill_in(footer, number))
    if number > 1 and (header := options.get("header", "")):
        canvas.drawString(margin, size[1] - 30, fill_in(header, number))
    if "framed" in options:
        canvas.setLineWidth(2)
        canvas.rect(28, 28, size[0] - 56, size[1] - 56)
    canvas.restoreState()
