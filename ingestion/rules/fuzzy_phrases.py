"""Finding printed phrases in text that a scanner may have spoilt. Pure; no document types here.

Letter case, spacing and punctuation never matter, and the letters that recognition
takes for one another are equal: 0 and O; 1, I and l; 5 and S; rn and m.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache

_LOOKALIKES = {
    "o": "[o0]",
    "0": "[0oq]",
    "i": "[il1|!]",
    "l": "[l1i|!]",
    "1": "[1il|!]",
    "s": "[s5$]",
    "5": "[5s]",
    "b": "[b8]",
    "8": "[8b]",
    "z": "[z2]",
    "m": "(?:m|rn)",
    "w": "(?:w|vv)",
}
_DIGITS = str.maketrans("OoQDIl|!SsBZz", "0000111155822")
_FOLD = str.maketrans("0qi1|!5$82", "oollllssbz")
_MIN_SIMILARITY = 0.86  # of difflib's ratio: about one wrong letter in seven
_MIN_FUZZY_LETTERS = 12  # letters; a shorter phrase resembles too much


@lru_cache(maxsize=2048)
def phrase(text: str) -> re.Pattern[str]:
    """Matches the phrase as whole words. Apostrophes may be missing or curly."""
    words = re.findall(r"\w+", text.casefold())
    body = r"[\W_]*".join("".join(_LOOKALIKES.get(letter, letter) for letter in w) for w in words)
    return re.compile(rf"(?<!\w){body}(?!\w)", re.IGNORECASE)


def holds(text: str, words: str) -> bool:
    """Whether the phrase stands in the text. Fast where it does not, which is the usual case."""
    return may_hold(text, words) and phrase(words).search(text) is not None


def may_hold(text: str, words: str) -> bool:
    """False: the phrase stands neither in the text nor in a part of it."""
    return letters(words) in _letters_of_page(text)


@lru_cache(maxsize=16_384)
def letters(text: str) -> str:
    """Without blanks, and all that `phrase` holds to be equal made equal."""
    signs = re.findall(r"[\w|!$]+", text.casefold().translate(_FOLD))
    return "".join(word.replace("rn", "m").replace("vv", "w") for word in signs).replace("_", "")


def digits(text: str) -> str:
    """Letters that stand where digits must, as those digits."""
    return text.translate(_DIGITS)


def bare(text: str) -> str:
    """Only letters and digits, in lower case: for comparing words of a scan."""
    return re.sub(r"[\W_]+", "", text).casefold()


def unaccented(text: str) -> str:
    """In lower case."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def resembles(text: str, lines: Iterable[str]) -> bool:
    """Whether a line holds nearly this phrase. Slow: only where `phrase` found nothing."""
    wanted = bare(text)
    if len(wanted) < _MIN_FUZZY_LETTERS:
        return False
    matcher = SequenceMatcher(None, b=wanted, autojunk=False)  # which prepares for b, and only once
    count = len(text.split())
    near = (seen for line in lines for seen in _windows(line, count) if _is_near(seen, wanted))
    return any(_close(matcher, seen) for seen in near)


@lru_cache(maxsize=1024)  # apart from `letters`: pages would push the words out
def _letters_of_page(text: str) -> str:
    return letters.__wrapped__(text)


def _windows(line: str, count: int) -> Iterator[str]:
    """Each run of so many words, bare."""
    words = [bare(word) for word in line.split()]
    return ("".join(words[at : at + count]) for at in range(max(1, len(words) - count + 1)))


def _is_near(seen: str, wanted: str) -> bool:
    return abs(len(wanted) - len(seen)) <= 2


def _close(matcher: SequenceMatcher[str], seen: str) -> bool:
    matcher.set_seq1(seen)
    return matcher.quick_ratio() >= _MIN_SIMILARITY and matcher.ratio() >= _MIN_SIMILARITY
