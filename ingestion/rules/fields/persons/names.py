"""Compares names: whether two documents name the same person, institution or version.

The comparison ignores differences in writing and respects differences in substance. Titles,
degrees, the order of the names, accents, punctuation and the letters that OCR confuses never
matter; a different first name or a different town does.

There are two questions about people. `is_same_person` requires evidence: the surname and the first
name, or its initial, must agree. `may_be_same_person` requires only that nothing contradicts it: a
surname alone, or no name at all, contradicts nothing. A document is filed under a name by the first
question. Two documents are called contradictory only if the answer to the second one is no.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, product
from typing import NamedTuple

from ingestion.rules import fuzzy_phrases


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


_TITLES_AND_DEGREES = _words(
    "dr doctor prof professor med mr mrs ms miss sir dame pd priv doz dipl hc habil"
    " md mdphd phd dphil mbbs mbchb mb bm bch bs bsc msc mph mba mrcp mrcs frcp frcs frcpc facp"
    " facc facs fracp fracs frcr bscphm"
    " msw ma mfa edd eds jd llm drph dpt psyd mres mphil mrcgp frcgp chb bds mds mch dnb bpharm"
    " mpharm rmn fnp mha mhs mpp lcsw lmsw dsw bmbs mbbch frca mrcpsych frcpsych ccfp fccp facs"
    " associate assistant emeritus assoc asst aprof fasco dsc dnp rn rgn bsn msn np aprn pac pharmd"
    " hons rph ccrc ccrp cra dds dmd dvm esq mrcpi frcpi uk edin glasg"
    " cip cph mls ascp crnp lpn lvn cnm cpi ccra acrp bcps bcop fracgp faha faap facep macp fidsa"
    " scd dmsc mtech otr ldn mlt rnc cnrn ocn aocn ccm cdces fache fesc fccm frcem frcog"
    " mrcog frcr mrcs mrcem mrcpch frcpch facog mmed bmed bmedsci bmbch lmft lpc lcpc rdn mx"
    " aud dpharm dhsc drmed mme mlle dott dottssa dra drs engr smt shri capt ir hab"
    " frcpath mrcpath frcsc fwacp fmcpath fcps msce msci faan faaos"
    " ccc slp cccslp ccca bcba clin adj rndr mudr judr phdr mvdr csc drsc mgr maslp rnd dm dpm"
)
_AMBIGUOUS_DEGREES = _words("do ma ba pa ing")  # each is a degree and also a surname
# Words that belong to a surname and do not distinguish two people.
_SURE_PARTICLES = _words("van von zu vom zum zur de der den des del della di da dos das du ter ten")
# The words that follow may be a first name or an initial as well. Both sets are written in the
# letters of `fuzzy_phrases.fold_letters`, because the words of a name are compared in them.
_PARTICLES = frozenset(
    fuzzy_phrases.fold_letters(word)
    for word in _SURE_PARTICLES | _words("la le les te bin ibn ben al el o mc mac d l st")
)
_NOT_DISTINCTIVE = frozenset(
    fuzzy_phrases.fold_letters(word) for word in _SURE_PARTICLES | _words("jr sr ii iii iv")
)
_INSTITUTION_WORDS = _words(
    "irb iec erb reb rec hrec erc institutional review board independent research ethics ethical"
    " committee"
    " commission panel office protection use involving participants human subjects"
    " lab labs laboratory laboratories clinical medical services the of"
    " for and at in inc llc ltd plc corp co gmbh ag"
)
# Letters that Unicode does not decompose.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "a", "œ": "o"})
_ACCENTED = re.compile("[à-åè-ïò-öø-ü]")
_UMLAUT_E = re.compile(r"(?<=[aou])e")  # German writes "ue" where "ü" is not available
# Registration numbers of IRBs, assurances (FWA), organisations (IORG) and laboratories (CLIA).
_REGISTRATION_NUMBER = re.compile(r"(?<!\w)(?:IRB|FWA|IORG)\d{7,8}(?!\w)|(?<!\w)\d\dD\d{7}(?!\w)")
_DIGIT, _LONG_WORD = re.compile(r"\d"), re.compile(r"[^\W\d_]{3,}")
_NO_INSTITUTION = re.compile(r"(?i)\b(?:(?:tele)?phone|version)\b|[@?]|\):")
_BETWEEN_WORDS = re.compile(r"[\s,;/()]+")
_ABBREVIATION = re.compile(r"[A-Z]{2,7}|(?:[A-Z][a-z]+){3,}")
_SPACED_DEGREE = re.compile(r"\b(ph|m)\.\s+d\b", re.IGNORECASE)  # "M. D."
_SCIENCES_BEFORE_MEDICINE = re.compile(r"\bn\.\s?(?=med\.)")  # as in "dr hab. n. med."
_SLASHED_TITLE = re.compile(r"\ba/(?=prof\b)", re.IGNORECASE)  # associate professor
_EAST_ASIAN = re.compile("[\u3041-\u30fe\u3400-\u9fff\uac00-\ud7a3]")
_MAX_NAME_WORDS = 8  # words of a name that are compared; the limit bounds the time


class NamePart(NamedTuple):
    """One word of a name. Words joined by a hyphen, as in Smith-Jones, have the same group."""

    text: str
    group: int


Name = Sequence[NamePart]
NamePairs = Sequence[tuple[NamePart, NamePart]]


def is_same_person(one: str, other: str) -> bool:
    """Return whether surname and first name, or its initial, agree.

    J. Smith is John A. Smith, and neither is Jane Smith. Smith, John is John Smith, MD. A surname
    or a first name alone identifies nobody: Smith is John Smith only if both are written "Smith".
    """
    for name, other_name in _interpretation_pairs(one, other):
        if name and _join(name) == _join(other_name):
            return True
        fewer, more = sorted((name, other_name), key=len)
        if any(_identifies(pairs, fewer, more) for pairs in _assignments(fewer, more)):
            return True
    return False


def may_be_same_person(one: str, other: str) -> bool:
    """Return whether nothing in the two names contradicts that they are the same person.

    Dr. Smith may be John Smith, and a text without a name may be anybody. A name in the letters of
    East Asia may be any name in Latin letters.
    """
    if (_EAST_ASIAN.search(one) is None) is not (_EAST_ASIAN.search(other) is None):
        return True
    for name, other_name in _interpretation_pairs(one, other):
        fewer, more = sorted((name, other_name), key=len)
        if not fewer or _join(fewer) == _join(more):
            return True
        for pairs in _assignments(fewer, more):
            if any(len(part.text) > 1 and part.text == found.text for part, found in pairs):
                return True
    return False


def is_same_institution(one: str, other: str) -> bool:
    """Return whether two texts name the same institution, with or without its address.

    A registration number that occurs in both decides.
    """
    if set(_REGISTRATION_NUMBER.findall(one)) & set(_REGISTRATION_NUMBER.findall(other)):
        return True
    fewer, more = sorted((_distinctive_words(one), _distinctive_words(other)), key=len)
    return fewer <= more


def may_be_institution(text: str) -> bool:
    """Return whether a text is no number, room, question or caption, as "1001" and "Room 5" are."""
    if _NO_INSTITUTION.search(text):
        return False
    return not _DIGIT.search(text) or len(_LONG_WORD.findall(text)) > 1


def names_institution(text: str) -> bool:
    """Return whether a text has a word that distinguishes one institution from another."""
    return bool(_distinctive_words(text))


def is_same_version(one: str, other: str) -> bool:
    """Return whether two versions are equal: 3 is 3.0 and v3.0, and is not 3.1.

    A text without a number is equal to any version.
    """
    first, second = _parse_version(one), _parse_version(other)
    return not first or not second or first == second


def _interpretation_pairs(one: str, other: str) -> Iterable[tuple[Name, Name]]:
    """Return every interpretation of one name with every interpretation of the other.

    The last pairs have one letter for all accented vowels, because OCR may read Jörg as Jérg with a
    high confidence.
    """
    one_blurred, other_blurred = (
        _ACCENTED.sub("a", unicodedata.normalize("NFC", text.casefold())) for text in (one, other)
    )
    return chain(
        product(_interpret(one), _interpret(other)),
        product(_interpret(one_blurred), _interpret(other_blurred)),
    )


def _identifies(pairs: NamePairs, fewer: Name, more: Name) -> bool:
    """Return whether pairs of agreeing words show that two names are the same person.

    Two names of each must agree, and one of them in full; if the other is an initial, this must be
    the surname. Particles and "Jr." do not distinguish people, and a double surname is one name.
    """
    distinctive = [
        (one, other) for one, other in pairs if _NOT_DISTINCTIVE.isdisjoint({one.text, other.text})
    ]
    one_groups, other_groups = ({pair[side].group for pair in distinctive} for side in (0, 1))
    if min(len(one_groups), len(other_groups)) < 2:
        return False
    in_full = [pair for pair in distinctive if len(min(pair[0].text, pair[1].text, key=len)) > 1]
    if len({one.group for one, _ in in_full}) > 1:
        return True
    surnames = {_surname(fewer), _surname(more)}
    return any(one in surnames or other in surnames for one, other in in_full)


def _surname(name: Name) -> NamePart:
    """Return the last word that can be a surname; `_interpret` moved one before a comma there."""
    return next((part for part in reversed(name) if part.text not in _NOT_DISTINCTIVE), name[-1])


def _assignments(fewer: Name, more: Name) -> Iterator[NamePairs]:
    """Yield each way to find every word of `fewer`, or its initial, among the words of `more`.

    No word is used twice.
    """
    if not fewer:
        yield []
        return
    first, rest = fewer[0], fewer[1:]
    for at, each in enumerate(more):
        has_initial = 1 in {len(first.text), len(each.text)}
        if first.text == each.text or (has_initial and first.text[:1] == each.text[:1]):
            for pairs in _assignments(rest, [*more[:at], *more[at + 1 :]]):
                yield [(first, each), *pairs]


def _join(name: Name) -> str:
    return "".join(part.text for part in name)


def _interpret(text: str) -> Iterator[Name]:
    """Yield the interpretations of a written name.

    An ambiguous degree is kept as a surname, or left out. Particles are words of their own, or a
    part of the word after them.
    """
    surname, comma, rest = text.partition(",")
    groups, after_comma = split_name(surname), split_name(rest)
    if comma and groups and after_comma:
        groups = (*after_comma, *groups)  # "Smith, John"
    without = tuple(parts for parts in groups if parts[0] not in _AMBIGUOUS_DEGREES)
    is_name = sum(len(parts[0]) > 1 for parts in without) >= 2  # a double surname counts once
    for each in [groups, without] if is_name else [groups]:
        # One word with two or more hyphens is a whole name, as the account of a person has it. With
        # one hyphen it may be a double surname.
        is_whole = len(each) == 1 and len(each[0]) > 2
        whole = tuple((part,) for part in each[0]) if is_whole else each
        parts = [NamePart(part, at) for at, group in enumerate(whole) for part in group]
        name = [
            NamePart(fuzzy_phrases.fold_letters(_UMLAUT_E.sub("", part)), group)
            for part, group in islice(parts, _MAX_NAME_WORDS)
        ]
        yield name
        if len(joined := _join_particles(name)) < len(name):
            yield joined


@lru_cache(maxsize=4096)
def split_name(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of a text without titles and degrees, each split at its hyphens and dots.

    An abbreviation behind a degree is another one, as in "Ann Smith, MD, FPCP, GradCertEd".

    "M.D." is one word and "J.R." two. A hyphen splits a double name; an apostrophe does not.
    """
    plain = _SCIENCES_BEFORE_MEDICINE.sub("", _SLASHED_TITLE.sub("", text))
    words = _BETWEEN_WORDS.split(_SPACED_DEGREE.sub(r"\1d", plain))
    name: list[tuple[str, ...]] = []
    is_behind_degree = False
    for word in words:
        parts = _split_word(word)
        is_other_degree = is_behind_degree and _ABBREVIATION.fullmatch(word) is not None
        if parts and not is_other_degree:
            name.append(parts)
        is_behind_degree = bool(word) and len(name) > 1 and (not parts or is_other_degree)
    return tuple(name)


@lru_cache(maxsize=1024)
def _split_word(written: str) -> tuple[str, ...]:
    """Return the parts of a word of a name, or nothing for a title and a degree."""
    word = _strip_accents(written)
    undotted = word.replace(".", "").replace("-", "")
    if undotted in _AMBIGUOUS_DEGREES:
        return (undotted,)
    if undotted in _TITLES_AND_DEGREES:
        return ()
    parts = tuple(part for part in re.split(r"[.\-]+", word) if part)
    return parts if parts and parts[0] not in _TITLES_AND_DEGREES else ()


def _join_particles(name: Name) -> Name:
    """Return the name with each run of particles joined to the next word: vanderberg."""
    joined: list[NamePart] = []
    particles = ""
    for at, part in enumerate(name):
        if part.text in _PARTICLES and at + 1 < len(name):
            particles += part.text
        else:
            joined.append(NamePart(particles + part.text, part.group))
            particles = ""
    return joined


def _strip_accents(text: str) -> str:
    """Return a text in lower case and without accents: only letters, digits, dots and hyphens."""
    letters = fuzzy_phrases.remove_accents(text).translate(_LETTERS)
    dashed = re.sub(r"[\u2010-\u2015]", "-", letters)
    return re.sub(r"[^\w.-]|_", "", dashed)


def _distinctive_words(text: str) -> set[str]:
    """Return the words of a text that distinguish one institution from another."""
    unnumbered = _REGISTRATION_NUMBER.sub(" ", text)
    plain = " ".join(_strip_accents(word) for word in re.split(r"[\s,;/()-]+", unnumbered))
    words = set(re.split(r"[\W_]+", plain)) - _INSTITUTION_WORDS
    return {fuzzy_phrases.fold_letters(_UMLAUT_E.sub("", word)) for word in words} - {""}


def _parse_version(text: str) -> list[int]:
    """Return the numbers of a version, without zeros at the end."""
    parts = [int(part) for part in re.findall(r"\d+", text)]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
