"""Do two documents name the same person, institution or version?

The comparison is lenient in the writing and strict in the substance. Titles, degrees, the order of
the names, accents, punctuation and the letters that a scan confuses never matter; another first
name or another town does.

People are compared in two ways. `is_same_person` asks for evidence: the surname and the first name,
or its initial, agree. `may_be_same_person` asks only that nothing speaks against it: a surname
alone, or no name at all, contradicts nothing. A document is filed under a name by the first, and
two documents are called contradictory only where the second is false.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, product
from typing import NamedTuple

from ingestion.rules import fuzzy_phrases


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


_NOT_NAMES = _words(
    "dr doctor prof professor med mr mrs ms miss sir dame pd priv doz dipl hc habil"
    " md mdphd phd dphil mbbs mbchb mb bch bs bsc msc mph mba mrcp mrcs frcp frcs frcpc facp facc"
    " facs fasco dsc dnp rn bsn msn np aprn pac pharmd rph ccrc ccrp cra dds dmd dvm esq"
)
# Words that belong to a surname and tell no two people apart. Some of them, and an initial, may be
# a first name as well. In the letters of `wording.letters`, as the words of a name are compared.
_SURE_PARTICLES = _words("van von zu vom zum zur de der den des del della di da dos das du ter ten")
_PARTICLES = frozenset(
    fuzzy_phrases.letters(word)
    for word in _SURE_PARTICLES | _words("la le les te bin ibn ben al el o mc mac d l st")
)
_NOT_TELLING = frozenset(
    fuzzy_phrases.letters(word) for word in _SURE_PARTICLES | _words("jr sr ii iii iv")
)
_EITHER = _words("do ma ba pa ing")  # a degree, or somebody's family name
_OF_ANY_BODY = _words(
    "irb iec erb reb rec institutional review board independent research ethics ethical committee"
    " commission human subjects lab labs laboratory laboratories clinical medical services the of"
    " for and at in inc llc ltd plc corp co gmbh ag"
)
# What Unicode does not take apart, and the German ways round a missing umlaut.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "a", "œ": "o"})
_ACCENTED = re.compile("[à-åè-ïò-öø-ü]")
_UMLAUTS = re.compile(r"(?<=[aou])e")
_REGISTERED = re.compile(r"(?<!\w)(?:IRB|FWA|IORG)\d{7,8}(?!\w)|(?<!\w)\d\dD\d{7}(?!\w)")
_SPACED = re.compile(r"\b(ph|m)\.\s+d\b", re.IGNORECASE)  # M. D., as some type it
_MAX_NAME_WORDS = (
    8  # words of a name that are compared: nobody writes more, and matching stays quick
)


class NamePart(NamedTuple):
    """One word of a name. Words that a hyphen joins, as in Smith-Jones, are of one `group`."""

    text: str
    group: int


Name = Sequence[NamePart]


def is_same_person(one: str, other: str) -> bool:
    """Return whether surname and first name, or its initial, agree.

    J. Smith is John A. Smith; neither is Jane Smith. Smith, John is John Smith, MD. A surname or a
    first name alone identifies nobody: Smith is John Smith only where both are written "Smith".
    """
    return any(_agree(*pair) for pair in _written_pairs(one, other))


def may_be_same_person(one: str, other: str) -> bool:
    """Return whether nothing in the two names contradicts that they are one person's.

    Dr. Smith may be John Smith, and a text without a name may be anybody's.
    """
    return any(_compatible(*pair) for pair in _written_pairs(one, other))


def same_body(one: str, other: str) -> bool:
    """An institution, with or without its address; a registration number that both show decides."""
    if _numbers(one) & _numbers(other):
        return True
    fewer, more = sorted((_distinctive(one), _distinctive(other)), key=len)
    return fewer <= more


def same_version(one: str, other: str) -> bool:
    """3 is 3.0 is v3.0, and is not 3.1."""
    first, second = _version(one), _version(other)
    return not first or not second or first == second


def _written_pairs(one: str, other: str) -> Iterable[tuple[Name, Name]]:
    """Every reading of the one name with every reading of the other."""
    written = product(_readings(one), _readings(other))
    misread = product(_readings(_blurred(one)), _readings(_blurred(other)))
    return chain(written, misread)


def _blurred(text: str) -> str:
    """With one letter for every accented vowel: a scan gives Jérg for Jörg, and is sure of it."""
    return _ACCENTED.sub("a", unicodedata.normalize("NFC", text.casefold()))


def _agree(one: Name, other: Name) -> bool:
    if one and _joined(one) == _joined(other):
        return True
    fewer, more = sorted((one, other), key=len)
    return any(_identifies(pairs, fewer, more) for pairs in _assignments(fewer, more))


def _identifies(pairs: Sequence[tuple[NamePart, NamePart]], fewer: Name, more: Name) -> bool:
    """Two names of each agree, and one of them in full: the surname, where the other is an initial.

    Particles and "Jr." tell no two people apart, and a double surname is one name.
    """
    telling = [
        (one, other) for one, other in pairs if _NOT_TELLING.isdisjoint({one.text, other.text})
    ]
    ours, theirs = ({pair[side].group for pair in telling} for side in (0, 1))
    if min(len(ours), len(theirs)) < 2:
        return False
    in_full = [pair for pair in telling if len(min(pair[0].text, pair[1].text, key=len)) > 1]
    if len({one.group for one, _ in in_full}) > 1:
        return True
    surnames = {_last(fewer), _last(more)}
    return any(one in surnames or other in surnames for one, other in in_full)


def _last(name: Name) -> NamePart:
    """The last word that can be a surname. `_readings` put one before a comma at the end."""
    return next((part for part in reversed(name) if part.text not in _NOT_TELLING), name[-1])


def _compatible(one: Name, other: Name) -> bool:
    fewer, more = sorted((one, other), key=len)
    if not fewer or _joined(fewer) == _joined(more):
        return True
    return any(
        any(len(part.text) > 1 and part.text == found.text for part, found in pairs)
        for pairs in _assignments(fewer, more)
    )


def _assignments(fewer: Name, more: Name) -> Iterator[Sequence[tuple[NamePart, NamePart]]]:
    """Each way to find every word of `fewer`, or its initial, in `more`; none stands for two."""
    if not fewer:
        yield []
        return
    first, rest = fewer[0], fewer[1:]
    for at, each in enumerate(more):
        if _alike(first.text, each.text):
            for pairs in _assignments(rest, [*more[:at], *more[at + 1 :]]):
                yield [(first, each), *pairs]


def _joined(name: Name) -> str:
    return "".join(part.text for part in name)


def _readings(text: str) -> Iterator[Name]:
    """Yield the name as it may be meant.

    With and without what is a degree or a family name, and with particles as words of their own or
    as part of the word behind them.
    """
    surname, comma, rest = text.partition(",")
    groups, behind = _groups(surname), _groups(rest)
    if comma and groups and behind:
        groups = [*behind, *groups]  # Smith, John
    without = [parts for parts in groups if parts[0] not in _EITHER]
    is_name = sum(len(parts[0]) > 1 for parts in without) >= 2  # a double name is one
    for each in [groups, without] if is_name else [groups]:
        # One word with two hyphens or more is a whole name, as an identity has it; with one it may
        # be a double surname.
        is_whole = len(each) == 1 and len(each[0]) > 2
        whole = [[part] for part in each[0]] if is_whole else each
        parts = [NamePart(part, at) for at, group in enumerate(whole) for part in group]
        name = [NamePart(_folded(part), group) for part, group in islice(parts, _MAX_NAME_WORDS)]
        yield name
        if len(together := _with_particles(name)) < len(name):
            yield together


def _groups(text: str) -> list[list[str]]:
    """The words of a text without titles and degrees, each parted at its hyphens and dots."""
    written = map(_parts, re.split(r"[\s,;/()]+", _SPACED.sub(r"\1d", text)))
    return [parts for parts in written if parts and parts[0] not in _NOT_NAMES]


def _with_particles(name: Name) -> Name:
    """Each run of particles as part of the word behind it: van der Berg is vanderberg."""
    whole: list[NamePart] = []
    before = ""
    for at, part in enumerate(name):
        if part.text in _PARTICLES and at + 1 < len(name):
            before += part.text
        else:
            whole.append(NamePart(before + part.text, part.group))
            before = ""
    return whole


def _folded(word: str) -> str:
    return fuzzy_phrases.letters(_umlauts(word))


def _parts(word: str) -> list[str]:
    """M.D. is one word and J.R. two; a hyphen parts a double name, an apostrophe does not."""
    plain = _plain(word)
    dotted = plain.replace(".", "").replace("-", "")
    if dotted in _NOT_NAMES | _EITHER:
        return [dotted]
    return [part for part in re.split(r"[.\-]+", plain) if part]


def _plain(text: str) -> str:
    """In lower case and without accents; letters, digits, dots and hyphens alone."""
    letters = fuzzy_phrases.unaccented(text).translate(_LETTERS)
    dashed = re.sub(r"[\u2010-\u2015]", "-", letters)
    return re.sub(r"[^\w.-]|_", "", dashed)


def _umlauts(word: str) -> str:
    return _UMLAUTS.sub("", word)


def _alike(one: str, other: str) -> bool:
    return one == other or (1 in {len(one), len(other)} and one[:1] == other[:1])


def _distinctive(text: str) -> set[str]:
    words = re.split(r"[\W_]+", _plain_text(_REGISTERED.sub(" ", text)))
    return {fuzzy_phrases.letters(_umlauts(word)) for word in words if word not in _OF_ANY_BODY} - {
        ""
    }


def _plain_text(text: str) -> str:
    return " ".join(_plain(word) for word in re.split(r"[\s,;/()-]+", text))


def _numbers(text: str) -> set[str]:
    return set(_REGISTERED.findall(text))


def _version(text: str) -> list[int]:
    parts = [int(part) for part in re.findall(r"\d+", text)]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
