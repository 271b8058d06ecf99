"""Reads the registered forms: a description in `registered/` for each edition.

docs/registered-forms.md explains the descriptions.

Coordinates are in points from the top left corner of the blank page. This module loads neither
numpy nor OpenCV, because the rules use it too.
"""

import re
import tomllib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from ingestion.reading.results import Box

Point = tuple[float, float]
BoxKind = Literal["text", "tick", "signature", "date"]
Choice = Literal["one", "any"]

_FOLDER = Path(__file__).with_name("registered")
_NOT_IN_SIGNS = re.compile(r"[\W_]+")
_ASCII_NOT_IN_SIGNS = re.sub(rb"[^\W_]+", b"", bytes(range(128)))


class FormDescriptionError(Exception):
    """A description of a form contains an error. The message names the file."""


@dataclass(frozen=True, slots=True)
class BlankBox:
    """A box of a blank form."""

    number: str  # as printed, such as "4"; "" for a box without a number
    kind: BoxKind
    area: Box  # points; for a tick, its square
    field: str = ""  # the field of `types.toml` whose value it contains
    option: str = ""  # the caption beside a tick
    noun: str = ""  # what the box asks for, within a sentence; "" if the field has its own
    is_required: bool = True
    choose: Choice = "one"  # how many of the squares of its group are to be ticked, at least one
    unless: str = ""  # the noun of a square; if that is ticked, this group may stay unticked
    is_part: bool = False  # whether it is a further part of an entry, and not its value


@dataclass(frozen=True)
class BlankPage:
    """One page of a blank form. Its `words` and `rules` are what is printed on it."""

    number: int  # from 1
    width: float  # points
    height: float  # points
    signs: tuple[str, ...]  # phrases of which a copy of the page contains at least one
    boxes: tuple[BlankBox, ...]
    words: tuple[tuple[str, Box], ...]
    rules: tuple[Box, ...]

    @cached_property
    def folded_signs(self) -> tuple[str, ...]:
        """Return the signs as `fold_signs` returns them."""
        return tuple(map(fold_signs, self.signs))

    @cached_property
    def read_words(self) -> tuple[tuple[str, Box], ...]:
        """Return the words with letters or digits, as `fold_signs` returns them."""
        folded = ((fold_signs(text), box) for text, box in self.words)
        return tuple((text, box) for text, box in folded if text)

    @cached_property
    def centres_by_text(self) -> Mapping[str, Sequence[Point]]:
        """Return the centres of `read_words`, by their texts."""
        centres: dict[str, list[Point]] = {}
        for text, box in self.read_words:
            centres.setdefault(text, []).append(find_centre(box))
        return centres

    def share_of_words(self, texts: Container[str]) -> float:
        """Return the share of `read_words` that are among some texts, wherever they stand."""
        centres = self.centres_by_text
        common = sum([len(centres[text]) for text in centres if text in texts])
        return common / max(len(self.read_words), 1)


@dataclass(frozen=True, slots=True)
class BlankForm:
    """One edition of a form."""

    key: str  # the name of its file, such as "fda-1572-2006-05"
    name: str  # "Form FDA 1572"
    document_type: str  # the slug in `types.toml`
    edition: str  # as printed on the form, such as "5/06"; "" if it prints none
    edition_name: str  # within a sentence: "May 2006"
    is_superseded: bool  # whether a newer edition was published
    pages: tuple[BlankPage, ...]
    us_dates: bool = False  # whether it asks for mm/dd/yyyy, or is a form of the United States
    is_redrawn: bool = False  # whether the places are those of our drawing, and not of a blank form


@cache
def read_registered_forms() -> Mapping[str, BlankForm]:
    """Return all registered editions by key. Raises FormDescriptionError."""
    return {path.stem: read_description(path) for path in sorted(_FOLDER.glob("*.toml"))}


@cache
def list_signs() -> frozenset[str]:
    """Return the signs of all pages, to be searched in text from `fold_signs`."""
    pages = (page for form in read_registered_forms().values() for page in form.pages)
    return frozenset(sign for page in pages for sign in page.folded_signs)


def find_centre(box: Box) -> Point:
    """Return the centre of a box."""
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def fold_signs(text: str) -> str:
    """Return the letters and digits of a text in lower case, without spaces."""
    signs = text.casefold().encode("utf-8", "surrogatepass").translate(None, _ASCII_NOT_IN_SIGNS)
    folded = signs.decode("utf-8", "surrogatepass")
    return folded if folded.isascii() else _NOT_IN_SIGNS.sub("", folded)


def read_description(path: Path) -> BlankForm:
    """Return the form that a file describes. Raises FormDescriptionError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return BlankForm(
            key=path.stem,
            name=table["name"],
            document_type=table["document_type"],
            edition=table["edition"],
            edition_name=table["edition_name"],
            is_superseded=table["is_superseded"],
            us_dates=table.get("us_dates", False),
            is_redrawn=table.get("is_redrawn", False),
            pages=tuple(
                _read_page(number, page) for number, page in enumerate(table["pages"], start=1)
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormDescriptionError(f"{path.name}: {error!r}") from error


def _read_page(number: int, table: Mapping[str, Any]) -> BlankPage:
    return BlankPage(
        number=number,
        width=float(table["width"]),
        height=float(table["height"]),
        signs=tuple(table["signs"]),
        boxes=tuple(map(_read_box, table["boxes"])),
        words=tuple((text, box) for box, text in _read_lines(table["words"])),
        rules=tuple(box for box, _ in _read_lines(table["rules"])),
    )


def _read_box(table: Mapping[str, Any]) -> BlankBox:
    values = dict(table)
    left, top, right, bottom = map(float, values.pop("area"))
    if values["kind"] not in get_args(BoxKind):
        raise ValueError(f"there is no kind of box {values['kind']!r}")
    if values.get("choose", "one") not in get_args(Choice):
        raise ValueError(f"squares cannot be chosen as {values['choose']!r}")
    if not (left < right and top < bottom):
        raise ValueError(f"box {values['number']} has no area")
    return BlankBox(area=Box(left, top, right, bottom), **values)


def _read_lines(text: str) -> Iterator[tuple[Box, str]]:
    """Yield the box and the word of each line, such as "38.3 51.8 96.0 60.1 FORM"."""
    for line in text.strip().splitlines():
        left, top, right, bottom, *word = line.split(maxsplit=4)
        yield Box(float(left), float(top), float(right), float(bottom)), "".join(word)
