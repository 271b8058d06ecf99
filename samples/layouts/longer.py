"""Makes specimens with more pages: continued texts and tables, attachments, numbers, headers."""

import io
import random
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pikepdf

from samples.layouts.specimen import STANDARD, Specimen, make_specimen

_TEXTS = Path(__file__).with_name("further.txt")
_SIGNATURE = re.compile(r"(?mi)^(?:@sign |@hand |yours |sincerely|kind regards|respectfully)")
_TITLE = re.compile(r"(?m)^# (.+)$")
_TABLE = re.compile(r"(?m)^\|!.*\n(?:^\|[^!].*\n?)+")
_NESTED = re.compile(r"(?ms)^@(?:box|columns)\b.*?^@end$")
_MAX_BLOCKS_PER_PAGE = 4
_NUMBERINGS = ("Page # of TOTAL", "page # of TOTAL", "# / TOTAL", "#", "- # -", "Page #")
_HEADERS = ("{protocol_number} - confidential", "{institution}", "{sponsor}, {protocol_number}")
NUMBERED_SHARE, HEADER_SHARE = 0.55, 0.3  # of the documents
PARTS = 2  # of the layouts and of the further texts; one part only measures


def make_longer_specimen(slug: str, layout: str, seed: int = 0) -> Specimen:
    """Return a specimen that may have further pages, as documents of that kind do.

    The seed determines whether the text continues, whether an attachment follows, and whether the
    pages have numbers and a header. STANDARD stays as it is. Layouts of one part have
    no text in common with those of the others.
    """
    if layout == STANDARD:
        return make_specimen(slug, layout, seed)
    rng = random.Random(f"longer {slug} {layout} {seed}")
    way = rng.choices(("none", "text", "table", "title", "attachment"), (40, 30, 8, 5, 17))[0]
    options = {"footer": ""}  # that of the layout may state another number of pages
    if rng.random() < NUMBERED_SHARE:
        options["footer"] = rng.choice(_NUMBERINGS)
    if rng.random() < HEADER_SHARE:
        options["header"] = rng.choice(_HEADERS)
    seed_of_text = rng.random()

    def extend(text: str) -> str:
        return _extend(text, slug, way, choose_part(slug, layout), random.Random(f"{seed_of_text}"))

    made = make_specimen(slug, layout, seed, extend=extend, more_options=options)
    if "TOTAL" not in options["footer"]:
        return made
    with pikepdf.open(io.BytesIO(made.content)) as document:
        total = len(document.pages)
    options["footer"] = options["footer"].replace("TOTAL", str(total))
    return make_specimen(slug, layout, seed, extend=extend, more_options=options)


def choose_part(slug: str, layout: str) -> int:
    """Return the part of a layout, from 0. It is the same in every run."""
    return random.Random(f"part {slug} {layout}").randrange(PARTS)


def _extend(text: str, slug: str, way: str, part: int, rng: random.Random) -> str:
    """Return the text of a layout with further text, in one of several ways."""
    if way == "none":
        return text
    if way == "attachment":
        letter = rng.choice(("A", "B", "1", "2", "I"))
        block = rng.choice(_blocks()["attachment"][part::PARTS]).replace("LETTER", letter)
        more = _choose(slug, part, rng, rng.randint(0, 2))
        return f"{text}\n@page\n{block}\n{more}\n"
    if way == "table" and (tables := _TABLE.findall(_NESTED.sub("", text))):
        # A log continues on further sheets, each with the head of the table.
        times = rng.randint(1, 3)
        title = _TITLE.search(text)
        head = f"# {title[1]}\n" if title and rng.random() < 0.5 else ""
        return text + "".join(f"\n@page\n{head}{tables[-1]}" for _ in range(times))
    more = _choose(slug, part, rng, rng.randint(2, 2 + 3 * _MAX_BLOCKS_PER_PAGE))
    if way == "title" and (title := _TITLE.search(text)):
        return f"{text}\n@page\n## {title[1]} (continued)\n{more}\n"
    places = [
        match.start() for match in _SIGNATURE.finditer(_NESTED.sub(lambda m: " " * len(m[0]), text))
    ]
    if places and rng.random() < 0.7:
        return f"{text[: places[-1]]}\n{more}\n\n{text[places[-1] :]}"
    return f"{text}\n{more}\n" if rng.random() < 0.5 else f"{text}\n@page\n{more}\n"


def _choose(slug: str, part: int, rng: random.Random, count: int) -> str:
    """Return some blocks that suit a type, each of them several times if there are too few."""
    name = {
        "informed-consent-form": "consent", "cv": "publications", "nih-biosketch": "publications",
    }.get(slug, "general")  # fmt: skip
    own = list(_blocks()[name][part::PARTS])
    rng.shuffle(own)
    return "\n\n".join(own[number % len(own)] for number in range(count))


@cache
def _blocks() -> Mapping[str, list[str]]:
    """Return the blocks of text by their names."""
    blocks: dict[str, list[str]] = {}
    for block in re.split(r"(?m)^== ", _TEXTS.read_text(encoding="utf-8"))[1:]:
        name, _, text = block.partition("\n")
        blocks.setdefault(name, []).append(text.strip())
    return blocks
