"""A labelled set of pages with details of participants, and of pages that resemble them.

Each layout is lines of text. `{NAME}`, `{SURNAME}`, `{GIVEN}`, `{INITIALS}`, `{BORN}`, `{RECORD}`,
`{STUDY}` and `{IDENTITY}` are details of a participant; `{DOCTOR}`, `{DAY}` and `{PHONE}` are not.
The layouts of the group "kept back" were written before the rules were measured on any of them, and
no rule was changed because of a page of that group.
"""

import random
import re
from dataclasses import dataclass

from ingestion.reading.results import DocumentReading, MediaType, PageReading, TextSource, Word
from tests.ingestion.rules.pages import LEFT, LETTER, LINE, TOP, Box

DETAILS = ("NAME", "SURNAME", "GIVEN", "INITIALS", "BORN", "RECORD", "STUDY", "IDENTITY")
_PLACEHOLDER = re.compile(r"\{([A-Z]+)\}")
_NAMES = {
    "eng": (
        ["Roe", "Whitcombe", "Okafor", "Hargreaves", "Lindqvist", "Castellano"],
        ["Jane", "Peter", "Ngozi", "Edith", "Oskar", "Lucia"],
    ),
    "fra": (["Dupont", "Lefèvre", "Moreau", "Garnier"], ["Marie", "Jean-Luc", "Hélène", "Alain"]),
    "deu": (["Mustermann", "Krüger", "Böhm", "Vogel"], ["Erika", "Jürgen", "Anneliese", "Karl"]),
    "spa": (["Fernández", "Ibáñez", "Ortega", "Rojas"], ["María", "Julián", "Pilar", "Andrés"]),
    "por": (["Carvalho", "Teixeira", "Moura", "Barros"], ["Beatriz", "Tiago", "Lurdes", "Caio"]),
    "ita": (["Bianchi", "Ferraro", "Gallo", "Conti"], ["Giulia", "Matteo", "Rosaria", "Enzo"]),
    "nld": (["Jansen", "Bakker", "Visser", "Smits"], ["Anneke", "Willem", "Femke", "Joris"]),
    "pol": (["Kowalska", "Nowak", "Zieliński", "Wrona"], ["Agnieszka", "Piotr", "Marek", "Ewa"]),
    "rus": (["Иванова", "Петров", "Соколова"], ["Мария", "Алексей", "Ольга"]),
    "jpn": (["山田", "佐藤", "高橋"], ["花子", "一郎", "美咲"]),
    "chi_sim": (["王", "李", "张"], ["小明", "丽华", "建国"]),
    "kor": (["김", "이", "박"], ["민수", "서연", "영희"]),
}
_DATE_FORMS = {
    "eng": ["{d:02} {m} {y}", "{d:02}/{n:02}/{y}", "{d} {m} {y}"],
    "fra": ["{d:02}/{n:02}/{y}"],
    "deu": ["{d:02}.{n:02}.{y}"],
    "spa": ["{d:02}/{n:02}/{y}"],
    "por": ["{d:02}/{n:02}/{y}"],
    "ita": ["{d:02}/{n:02}/{y}"],
    "nld": ["{d:02}-{n:02}-{y}"],
    "pol": ["{d:02}.{n:02}.{y}"],
    "rus": ["{d:02}.{n:02}.{y}"],
    "jpn": ["{y}年{n}月{d}日"],
    "chi_sim": ["{y}年{n}月{d}日", "{y}-{n:02}-{d:02}"],
    "kor": ["{y}년 {n}월 {d}일"],
}
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_IDENTITIES = {
    "eng": "078-05-1120",
    "fra": "2 56 03 75 116 001 87",
    "spa": "12345678Z",
    "por": "123.456.789-09",
    "ita": "BNCGLI56C52H501X",
    "nld": "123456782",
    "pol": "56031212345",
    "chi_sim": "110101195603123456",
    "kor": "560312-2123456",
    "rus": "112-233-445 95",
}


@dataclass(frozen=True)
class Layout:
    """A page of a document, with placeholders."""

    name: str
    language: str
    lines: tuple[str, ...]
    kind: str = ""  # the slug of the type of the document; "" if it has none


@dataclass(frozen=True)
class LabelledPage:
    """A page that was made from a layout, with the places of the details on it."""

    reading: DocumentReading
    details: tuple[tuple[str, tuple[Box, ...]], ...]  # each with the boxes of its words


def make_labelled_page(layout, seed):
    """Return a page of a layout with values that depend on the seed."""
    draw = random.Random(f"{layout.name}:{seed}")
    row_of_values = {}
    lines, found = [], []
    for row, template in enumerate(layout.lines):
        if template.startswith("~"):  # a further row has the values of another person
            row_of_values = {}
        line = ""
        parts = _PLACEHOLDER.split(template.removeprefix("~"))
        for number, part in enumerate(parts):
            if number % 2:
                value = row_of_values.setdefault(part, _make_value(part, layout.language, draw))
                if part in DETAILS:
                    found.append((part, row, len(line), len(line) + len(value)))
                # Columns stay in their places.
                gap = len(parts[number + 1]) - len(parts[number + 1].lstrip())
                width = len(part) + 2 + gap - 2
                line += value.ljust(width) if gap > 1 else value
                if gap > 1:
                    parts[number + 1] = "  " + parts[number + 1].lstrip()
            else:
                line += part
        lines.append(line)
    page = _set_page(lines, layout.language)
    places = tuple(
        (part, tuple(_boxes_between(page, row, start, end))) for part, row, start, end in found
    )
    return LabelledPage(DocumentReading(MediaType.PDF, (page,)), places)


def _make_value(part, language, draw):
    surnames, given = _NAMES[language]
    surname, first = draw.choice(surnames), draw.choice(given)
    is_eastern = language in {"jpn", "chi_sim", "kor"}
    day = {"d": draw.randint(1, 28), "n": draw.randint(1, 12)}
    day["m"] = _MONTHS[day["n"] - 1]
    form = draw.choice(_DATE_FORMS[language])
    return {
        "NAME": f"{surname}{first}" if is_eastern else f"{first} {surname}",
        "SURNAME": surname if is_eastern else surname.upper(),
        "GIVEN": first,
        "INITIALS": draw.choice(["{0}{1}", "{0}.{1}.", "{0}-{1}"]).format(first[0], surname[0]),
        "BORN": form.format(y=draw.randint(1931, 1999), **day),
        "DAY": form.format(y=draw.randint(2024, 2026), **day),
        "RECORD": draw.choice(["{:08}", "{:07}", "H{:07}"]).format(draw.randint(10**5, 10**7 - 1)),
        "STUDY": f"{draw.randint(101, 999)}-{draw.randint(1, 40):03}",
        "IDENTITY": _IDENTITIES.get(language, "078-05-1120"),
        "DOCTOR": draw.choice(["Dr Amara Singh", "Dr Tom Keller", "Dr Ines Vidal"]),
        "PHONE": f"555-{draw.randint(1000, 9999)}",
    }[part]


def _set_page(lines, language):
    words = tuple(
        Word(match[0], _box(row, match.start(), match.end()), 100.0)
        for row, line in enumerate(lines)
        for match in re.finditer(r"\S+", line)
    )
    text = "\n".join(line for line in lines if line.strip())
    return PageReading(1, 612.0, 792.0, text, TextSource.NATIVE, words=words, language=language)


def _box(row, start, end):
    top = TOP + row * LINE
    return Box(LEFT + start * LETTER, top, LEFT + end * LETTER, top + 10)


def _boxes_between(page, row, start, end):
    whole = _box(row, start, end)
    for word in page.words:
        if (
            word.box.top == whole.top
            and word.box.left < whole.right - 1
            and (word.box.right > whole.left + 1)
        ):
            yield Box(
                max(word.box.left, whole.left),
                word.box.top,
                min(word.box.right, whole.right),
                word.box.bottom,
            )
