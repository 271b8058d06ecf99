"""Do two papers name the same? People, boards, laboratories and versions.

Lenient in the writing and strict in the substance: titles, degrees, initials, the order of
the names, accents, punctuation and the letters that a scan confuses never matter; another
given name or another town does. What holds nothing to compare differs from nothing.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain, islice, product

from ingestion.rules import wording


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


_NOT_NAMES = _words(
    "dr doctor prof professor med mr mrs ms miss sir dame pd priv doz dipl hc habil"
    " md mdphd phd dphil mbbs mbchb mb bch bs bsc msc mph mba mrcp mrcs frcp frcs frcpc facp facc"
    " facs fasco dsc dnp rn bsn msn np aprn pac pharmd rph ccrc ccrp cra dds dmd dvm esq"
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
_MOST = 8  # words of a name that are compared: nobody writes more, and matching stays quick


def same_person(one: str, other: str) -> bool:
    """J. Smith is John A. Smith; neither is Jane Smith. Smith, John is John Smith, MD."""
    written = product(_readings(one), _readings(other))
    misread = product(_readings(_blurred(one)), _readings(_blurred(other)))
    return any(_match(*pair) for pair in chain(written, misread))


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


def _blurred(text: str) -> str:
    """With one letter for every accented vowel: a scan gives Jérg for Jörg, and is sure of it."""
    return _ACCENTED.sub("a", unicodedata.normalize("NFC", text.casefold()))


def _match(one: Sequence[str], other: Sequence[str]) -> bool:
    fewer, more = sorted((one, other), key=len)
    if not fewer or "".join(fewer) == "".join(more):
        return True
    shared = any(len(word) > 1 and word in more for word in fewer)
    return shared and _each_found(fewer, more)


def _readings(text: str) -> list[list[str]]:
    """The words of a name; and once more without those that are a degree or a family name."""
    written = map(_parts, re.split(r"[\s,;/()]+", _SPACED.sub(r"\1d", text)))
    groups = [parts for parts in written if parts and parts[0] not in _NOT_NAMES]
    without = [parts for parts in groups if parts[0] not in _EITHER]
    is_name = sum(len(parts[0]) > 1 for parts in without) >= 2  # a double name is one
    return [_folded(chain(*each)) for each in ([groups, without] if is_name else [groups])]


def _folded(words: Iterable[str]) -> list[str]:
    return [wording.letters(_umlauts(word)) for word in islice(words, _MOST)]


def _parts(word: str) -> list[str]:
    """M.D. is one word and J.R. two; a hyphen parts a double name, an apostrophe does not."""
    plain = _plain(word)
    dotted = plain.replace(".", "").replace("-", "")
    if dotted in _NOT_NAMES | _EITHER:
        return [dotted]
    return [part for part in re.split(r"[.\-]+", plain) if part]


def _plain(text: str) -> str:
    """In lower case and without accents; letters, digits, dots and hyphens alone."""
    letters = wording.unaccented(text).translate(_LETTERS)
    dashed = re.sub(r"[\u2010-\u2015]", "-", letters)
    return re.sub(r"[^\w.-]|_", "", dashed)


def _umlauts(word: str) -> str:
    return _UMLAUTS.sub("", word)


def _each_found(words: Sequence[str], among: Sequence[str]) -> bool:
    """Each of the words is one of the others, or its initial; none stands for two."""
    if not words:
        return True
    first, rest = words[0], words[1:]
    return any(
        _alike(first, each) and _each_found(rest, [*among[:at], *among[at + 1 :]])
        for at, each in enumerate(among)
    )


def _alike(one: str, other: str) -> bool:
    return one == other or (1 in {len(one), len(other)} and one[:1] == other[:1])


def _distinctive(text: str) -> set[str]:
    words = re.split(r"[\W_]+", _plain_text(_REGISTERED.sub(" ", text)))
    return {wording.letters(_umlauts(word)) for word in words if word not in _OF_ANY_BODY} - {""}


def _plain_text(text: str) -> str:
    return " ".join(_plain(word) for word in re.split(r"[\s,;/()-]+", text))


def _numbers(text: str) -> set[str]:
    return set(_REGISTERED.findall(text))


def _version(text: str) -> list[int]:
    parts = [int(part) for part in re.findall(r"\d+", text)]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
