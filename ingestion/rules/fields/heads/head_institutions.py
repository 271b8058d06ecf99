"""Finds committees, institutions and laboratories in the head or the text of page 1.

A value found only by its place is never without doubt.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry
from ingestion.rules.fields.heads.layout import (
    CONNECTING_WORD,
    INSTITUTION,
    LETTERHEAD_SHARE,
    MIN_INDENT,
    NAME_WORD,
)
from ingestion.rules.fields.persons import names
from ingestion.rules.fields.text_lines import TextLine, is_in_title_case
from ingestion.rules.fields.values import FieldValue, value_of_line

_MAX_OFFSET = 2.0  # points between the left edges of two lines of a cell
_MIN_WRAPPED_LINE = 60  # characters; a shorter line ends because the text does
_MAX_WRAPPED_WORDS = 7  # of the name of a committee, in the next line
_MAX_BOARD_WORDS = 10  # words of a line that is the name of a committee
_MAX_CAPITALISED_BOARD_WORDS = 13  # the same, each with a capital letter
_MAX_INSTITUTION_WORDS = 7
_BOARD = re.compile(
    rf"(?:{NAME_WORD} (?:\((?:[A-Z]{{2,8}}|\d)\) )?"
    r"(?:(?:of the|for the|of|for|and|&|at|in) )?){1,8}"
    r"(?:(?:Institutional|Ethics?|Ethical|Research|Human|Subjects|Review) ){0,4}"
    r"(?:Boards?|(?:Sub-?)?[Cc]ommittees?|Commission|Panel|Ethics Office|IRB|IEC|REB|REC|HREC)\b"
    r"(?: Research(?= of\b| at\b))?(?: \([A-Z]{2,8}\))?"
    rf"(?:(?:,| of| at| on| for)(?: the)? (?:{NAME_WORD} ?(?:(?:{CONNECTING_WORD}) )?){{1,5}}"
    rf"|(?: {NAME_WORD}){{1,3}}(?= (?:here\w+|ha[sd]|have|is|was|met|reviewed|approved|considered"
    r"|confirms|grants|gives|gave|granted)\b))?"
)
# Words of institutions, and their acronyms.
_IN_BOARD = re.compile(
    r"University|College|Institute|Hospital|Faculty|School|Department|\b[A-Z]{3,6} (?:IRB|REB|REC)"
)
_HAS_BOARD = re.compile(
    r"(?i)\b(?:(?:sub-?)?committee|board|panel|commission|office)\b|(?-i:\b(?:IRB|REB|REC|IEC|HREC)\b)"
)
_BOARD_WORD = re.compile(
    r"(?i)review|ethic|IRB|IEC|REB|REC|subjects|human (?:participants|investigations?|research)"
)
# An address of e-mail, or a line of a sentence.
_NO_HEADING = re.compile(
    r"@|^[a-z]|^(?:Thank|Please|We|You|Your|This)\s|[a-z]{3}\.\s(?:The|This|It|We|Your?)\b"
)
_BOARD_GOES_ON = re.compile(  # in the next line
    r"(?:Institutional|Human|Review|Ethics?|Ethical|Protection|of|of the|for the)$"
)
_UNIT_WITH_ADDRESS = re.compile(  # the next line of a letterhead
    r"(?:Division|Department|Office|Faculty|School)\b[^.;\n]*,\s*(?:P\.?\s?O\.?\s)?(?:Box|Room|Suite|\d)"
)
# A committee that decides in a sentence. Its subject or its institution may stand behind it.
_WORD_OF_SUBJECT = r"[^\W\d_a-z](?:[\w'\u2019-]|&(?=[A-Z])|(?<=\b\w)\.|(?<=\bSt)\.)*"
_ACTING_BOARD = re.compile(
    r"\b(?P<before>[Tt]he|[Bb]y(?: the)?) "
    rf"(?P<name>(?:{NAME_WORD} (?:(?:of|for|and|&|the|in|at) ){{0,2}}){{0,6}}"
    r"(?:Committee|Board|Panel|Commission)\b(?: \([A-Z][\w -]{1,20}\))?"
    rf"(?: \u2013 (?!Decision|Outcome|Approval){_WORD_OF_SUBJECT})?"
    rf"(?:(?: (?:of|for|on|and|&|the|in|at)){{0,2}} {_WORD_OF_SUBJECT}){{0,10}}"
    r"(?: \([A-Z][\w-]{1,20}\))?)"
)
_ACTS_BEHIND = re.compile(
    r"(?:\. (?:The|This) (?:Committee|Board|Panel)\b[^.;:]{0,99}?|[,\s][^.;:]{0,80}?)"
    r"\b(?:ha(?:s|ve|d) (?:\w+ )?)?(?:assess|review|approv|consider|examin|evaluat|discuss|grant"
    r"|decid|gives?\b|gave\b|given\b|express)"
)
_ACTS_BEFORE = re.compile(
    r"(?i)\b(?:approv\w*|grant\w*|permission|clearance|opinion|review\w*|assess\w*|consider\w*"
    r"|examin\w*|given|issued)\b[^.;:]{0,60}$"
)
_MAX_BEFORE_BOARD = 90  # characters before a committee in which its verb is searched
_POSSESSIVE = re.compile(  # "Ashby College's Board", but not "Ashby Children's Board"
    r"(?P<kept>(?:\b(?:St\.?|Saint) [\w-]+|\b(?:Children|Women|Men|People|King|Queen))['\u2019]s)"
    r"|['\u2019]s"
    r"(?= (?:Institutional|Research|Human|Ethics?|Review|Board|Committee|IRB|REB|REC)\b)"
)
# Words of a sentence in capital letters, officers, and months, which no name of a committee has.
_NO_BOARD = re.compile(
    r"(?i)\b(?:exempt|from|that|certify|this|we|you|members? of|chair\w* of|form|designation"
    r"|reviewing|limited irb)\b"
)
_OFFICE = re.compile(r"(?i)\boffice\b")
_MONTH_BEHIND = re.compile(
    r"(?i),?\s(?:on|in)\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*(?:\s\d+)?$"
)
# The address of an institution, or its number in brackets.
_ADDRESS_BEHIND = re.compile(r"\s*\(\d+\)$|,\s(?:[^,]*\d.*|P\.?\s?O\.?\s.*)$")
# The first word of an address behind a name, whose number follows.
_ADDRESS_WORD_BEHIND = re.compile(
    r"(?i),?\s(?:(?:p\.?\s?o\.?|campus|mail)\s)?(?:box|suite|room|floor|level|building)$"
)
_SEPARATOR = re.compile(r"\s+[|\u2022\u00b7]\s+")  # between a unit and its committee
_ARTICLE = re.compile(r"^(?:ALL|The|This|From|On|Your|Our|Dear|To) ")
_DOCUMENT_OF = re.compile(
    r"(?i)^(?:statement|decision|opinion|approval|letter|notice|certificate|attestation|resolution|minutes|report|memo\w*"
    r"|executive|secretariat)"
    r"\s+(?:of|from|by)\s+(?:the\s+)?"
)
_GOES_ON = re.compile(r"(?i)\b(?:of|for|and|at|in|on)(?: the)?$")  # in the next line
_DOCUMENT_BEHIND = re.compile(
    r"(?i)\s+[-\u2013|]\s+(?:\w+ ){0,2}(?:outcome|decision|approval|notice|letter|certificate)"
    r"(?:\s\([^()]*\))?$"
)
_LABORATORY = re.compile(
    r"(?i)\b(?:laborator(?:y|ies)|labs?|diagnostics|patholog\w+|biochemistry)\b"
)
_NO_LABORATORY = re.compile(
    r"(?i)\b(?:directors?|names?|improvement|oversight|certif\w+|accredit\w+|association|college of"
    r"|guild|society|board|council|standards?|licen[cs]e|permit|requirements|named|iso|schedule|block|level|tel"
    r"|number|medical laboratories|testing|services? administration)\b|[.:]$"
)
_MEETS = re.compile(
    r"(?i)(?:has (?:been|met|demonstrated)|(?:is|was) (?:\w+by |duly )?"
    r"(?:accredited|certified|licen[cs]ed|authori[sz]ed|approved)"
    r"|meets?|fulfil+s?|satisf(?:ies|y)|compl(?:ies|y)|conforms?|having met"
    r"|operates in accordance|has successfully)\b"
)
_ANNOUNCES = re.compile(
    r"(?i)(?:\b(?:certif|attest|confirm|declare|recogni)\w* that"
    r"(?: the (?:\w+ ){0,2}laborator(?:y|ies))?"
    r"|\b(?:awarded|granted|presented|issued) to"
    r"|\baccredits(?: the)?|\bfollowing laboratory\b.*)\s*:?$"
)
_DOCUMENT_HEADING = re.compile(
    r"(?i)\b(?:certificate|accreditation|licen[cs]e|permit|registration)\b"
)
_NO_LABORATORY_LINE = re.compile(
    r"(?i)^(?:certificate|this\b|here\w+|the following)"
    r"|\b(?:certif\w+|attests?|confirms?) that\b|:$"
)
# The officer of a committee before its name, as in the head of a memorandum.
_OFFICER_BEFORE = re.compile(
    r"(?i)^(?:(?:from|to)\s*:\s*)?(?:.*\b(?:chair(?:man|person|woman)?|secretary|administrator"
    r"|coordinator)\b,?\s+(?:(?:of|to|for)\s+)?(?:the\s+)?"
    r"|.*\b(?:considered|reviewed|approved|examined|assessed)\sby\s(?:the\s)?)?"
)
_INVESTIGATOR = re.compile(r"(?i)(?:(?:principal|site)\s)?investigator(?:s|\(s\))?\s?:?")
_SITE_WORD = re.compile(
    r"(?i)\b(?:LLC|PLLC|inc|clinics?|cent(?:er|re)s?|research|associates|hospital|university|institute"
    r"|group|health|college)\b|\bP\.?[AC]\.?$"
)
_ADDRESS_LINE = re.compile(r"^\d|\d{3}|(?i:\b(?:street|road|avenue|suite|floor|p\.?o\.? box)\b)")
_MAX_ADDRESS_LINES = 6


def find_headings(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the short lines of the head that name an institution by the field's phrases."""
    for at, line in enumerate(lines):
        if line.box.top > LETTERHEAD_SHARE * page.height:
            return
        if not _has_phrase(line.text, spec):
            continue
        words = line.words
        text = next(part for part in _SEPARATOR.split(line.text) if _has_phrase(part, spec))
        if _NO_HEADING.search(text):
            continue
        if _GOES_ON.search(text) and at + 1 < len(lines):
            words, text = (*words, *lines[at + 1].words), f"{text} {lines[at + 1].text}"
        is_capitalised = is_in_title_case([line]) and "," not in text
        limit = _MAX_CAPITALISED_BOARD_WORDS if is_capitalised else _MAX_BOARD_WORDS
        if len(text.split()) > limit:
            continue
        text = _ADDRESS_BEHIND.sub("", _DOCUMENT_BEHIND.sub("", text.strip(" ,;_-")))
        text = _clean_heading(text, line, lines[:at])
        if text and not text.endswith((".", ":")):
            yield value_of_line(page, words, spec, text)


def names_whole_board(text: str) -> bool:
    """Return whether a heading names a committee with its institution.

    It may name an office instead, as "Research Ethics Office", or the committee with its address.
    """
    name, _, rest = text.partition(",")
    is_named = names.names_institution(name) or INSTITUTION.search(rest) is not None
    return is_named and not _OFFICE.search(text)


def _has_phrase(text: str, spec: FieldSpec) -> bool:
    return any(fuzzy_phrases.contains_phrase(text, phrase) for phrase in spec.heading)


def _clean_heading(text: str, line: TextLine, above: Sequence[TextLine]) -> str:
    """Return the name of an institution in a heading, or "" if it names a document only."""
    without_officer = _OFFICER_BEFORE.sub("", text)
    if without_officer != text:
        text = without_officer
    elif not names.names_institution(text):
        text = f"{_first_line_of_cell(line, above)} {text}".strip()
    plain = _DOCUMENT_OF.sub("", text)
    return plain if plain == text or names.names_institution(plain) else ""


def _first_line_of_cell(line: TextLine, above: Sequence[TextLine]) -> str:
    """Return the line above in the cell of a table that a line ends, or "" if it is no such end."""
    rows = [each for each in above if abs(each.box.left - line.box.left) < _MAX_OFFSET]
    last = rows[-1] if rows else None
    if last is None or line.box.top - last.box.bottom > last.box.bottom - last.box.top:
        return ""
    has_caption = [
        any(
            each.box.right < one.box.left and geometry.is_level_with(each.box, one.box)
            for each in above
        )
        for one in (last, line)
    ]
    return last.text if has_caption == [True, False] else ""


def find_boards_in_text(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the committees that the sentences of a page name with the name of their institution."""
    texts = [
        (line, _plain_name_of_board(match[0]))
        for line, following in zip_longest(lines, lines[1:])
        for match in _BOARD.finditer(_with_wrapped_words(line, following))
        if match.start() < len(line.text)
    ]
    named = [each for each in texts if _BOARD_WORD.search(each[1])]
    for line, text in sorted(named, key=lambda each: _rank_of_board(each[1])):
        if names.names_institution(text):
            yield value_of_line(page, line.words, spec, text)


def find_acting_boards(text: str) -> Iterator[str]:
    """Yield the committees that decide or review in the sentences of a text, with their subjects.

    As "the Committee for Bioethics of Ashby College has given" and "was reviewed by the Ethics
    Committee Psychology (EC-P)". The verb may stand in the next sentence, behind "The Committee".
    """
    if not _HAS_BOARD.search(text):
        return
    joined = " ".join(text.split())
    for match in _ACTING_BOARD.finditer(joined):
        name = _plain_name_of_board(match["name"])
        if not _BOARD_WORD.search(name):
            continue
        before = joined[max(0, match.start() - _MAX_BEFORE_BOARD) : match.start()]
        is_agent = match["before"].lower().startswith("by") and _ACTS_BEFORE.search(before)
        is_acting = is_agent or _ACTS_BEHIND.match(joined, match.end())
        if is_acting and names.names_institution(name):
            yield name


def is_in_english(board: str) -> bool:
    """Return whether the heading of a committee has an English word for it."""
    return _HAS_BOARD.search(board) is not None


def _rank_of_board(name: str) -> int:
    """Return 0 for the name of a committee with that of its institution, and 2 for an office."""
    return 2 if _OFFICE.search(name) else int(not _IN_BOARD.search(name))


def _plain_name_of_board(text: str) -> str:
    """Return the name of a committee without the words before it and the sentence after it."""
    sentence = re.split(r"(?<=[a-z]{2})\.\s", text)[0]
    plain = _ARTICLE.sub(
        "", _POSSESSIVE.sub(lambda match: match["kept"] or "", sentence).strip(" ,;.")
    )
    plain = _ADDRESS_WORD_BEHIND.sub("", _MONTH_BEHIND.sub("", _DOCUMENT_OF.sub("", plain)))
    return "" if _NO_BOARD.search(plain) else plain


def _with_wrapped_words(line: TextLine, following: TextLine | None) -> str:
    """Return the text of a line; if it goes on in the line below, with the first words of that."""
    if following is None:
        return line.text
    if len(line.text) < _MIN_WRAPPED_LINE and not _BOARD_GOES_ON.search(line.text):
        return line.text
    if abs(following.box.left - line.box.left) > MIN_INDENT:
        return line.text
    if _UNIT_WITH_ADDRESS.match(following.text) and not _BOARD_GOES_ON.search(line.text):
        return line.text
    return f"{line.text} {' '.join(following.text.split()[:_MAX_WRAPPED_WORDS])}"


def find_laboratories(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names of laboratories that are a line of their own, in the largest type first."""
    for line in sorted(lines, key=lambda each: -round(each.size)):
        text = line.text.strip(" ,;")
        is_named = _LABORATORY.search(text) and names.names_institution(text)
        is_named = is_named and is_in_title_case([line])
        if is_named and not _NO_LABORATORY.search(text) and len(text.split()) <= _MAX_BOARD_WORDS:
            yield value_of_line(page, line.words, spec, text)


def find_accredited_laboratories(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[tuple[FieldValue, bool]]:
    """Yield the lines above words such as "meets the requirements of", without the address.

    The second part says whether the line above announces the name, as "this certifies that".
    """
    for at, line in enumerate(lines):
        if not _MEETS.match(line.text):
            continue
        for number in range(at - 1, max(at - _MAX_ADDRESS_LINES, 0), -1):
            text = lines[number].text.strip(" ,;")
            above = lines[number - 1].text
            is_announced = _ANNOUNCES.search(above) is not None
            if _NO_LABORATORY_LINE.search(text):
                break
            if (is_announced or _DOCUMENT_HEADING.search(above)) and not _ADDRESS_LINE.search(text):
                yield value_of_line(page, lines[number].words, spec, text), is_announced
                break


def find_institutions_below_investigator(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the institution in the line below the name beside the caption "Investigator".

    Consent forms of central committees name the site there, above its address.
    """
    for caption in lines:
        if not _INVESTIGATOR.fullmatch(caption.text):
            continue
        beside = [
            each
            for each in lines
            if each.box.left > caption.box.right and geometry.is_level_with(each.box, caption.box)
        ]
        name = min(beside, key=lambda each: each.box.left, default=None)
        below = [
            each
            for each in lines
            if name is not None
            and abs(each.box.left - name.box.left) < _MAX_OFFSET
            and 0 <= each.box.top - name.box.bottom < name.box.bottom - name.box.top
            and not _has_caption(each, lines)
        ]
        for line in below[:1]:
            if _SITE_WORD.search(line.text) and not _ADDRESS_LINE.search(line.text):
                yield value_of_line(page, line.words, spec, line.text.strip(" ,;"))


def _has_caption(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether another text stands to the left of a line."""
    return any(
        each.box.right < line.box.left and geometry.is_level_with(each.box, line.box)
        for each in lines
    )


def find_institutions(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the institutions that page 1 names, those in its head first."""
    for line in lines:
        plain = line.text.strip(" ,;.")
        if len(plain.split()) <= _MAX_INSTITUTION_WORDS and INSTITUTION.match(plain):
            yield value_of_line(page, line.words, spec, plain)
            continue
        for match in INSTITUTION.finditer(line.text):
            yield value_of_line(page, line.words, spec, match[0].strip(" ,;."))
