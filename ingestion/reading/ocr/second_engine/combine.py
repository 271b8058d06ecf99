"""Combines the words that two OCR engines read from the same page.

The second engine finds lines that Tesseract omits, and reads blurred and noisy print better.
Tesseract knows the order of columns and finds more blanks between words. So the words of a line
keep Tesseract's boxes, and each gets the text of the engine that is surer of it. Where they read
different numbers, nobody knows which of them is right: the word keeps both and gets
`DISPUTED_CONFIDENCE`, so that values that contain it are in doubt, and people see both.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from unicodedata import combining, normalize

from rapidfuzz.distance import Levenshtein

from ingestion.reading.ocr.engines import DISPUTED_CONFIDENCE, MIN_WORD_CONFIDENCE, OcrWord

MIN_DISPUTE_CONFIDENCE = 40.0  # of a reading that can dispute another one; less is noise
MIN_PLAIN_CONFIDENCE = 95.0  # of a word of Tesseract without the diacritics of the other reading
MIN_SIMILARITY = 0.5  # of two readings of a line, 0 to 1; below, they cannot be aligned
MAX_BORDER_SHIFT = 2  # characters between a border of words and the blank that belongs to it
MAX_LATIN_1 = 0xFF  # the last letter of ISO 8859-1

_DIGIT = re.compile(r"\d")
_SIGNS = re.compile(r"[^\w]|_")


def combine_pages(first: Sequence[OcrWord], second: Sequence[OcrWord]) -> list[OcrWord]:
    """Return the words of a page in reading order. `first` are Tesseract's.

    Words of Tesseract where the second engine saw no line remain only if they are certain, because
    noise is often read as short words of low confidence.
    """
    lines = [list(words) for _, words in groupby(second, key=lambda word: word.line)]
    shared: list[list[OcrWord]] = [[] for _ in lines]
    alone: list[OcrWord] = []
    for word in first:
        index = _find_line(word, lines)
        if index is not None:
            shared[index].append(word)
        elif _is_evident(word):
            alone.append(word)
    combined = [
        combine_line(known, join_words(line)) or line
        for known, line in zip(shared, lines, strict=True)
    ]
    return _order(first, combined, shared, alone)


def combine_line(first: Sequence[OcrWord], second: OcrWord) -> list[OcrWord]:
    """Return Tesseract's words of a line, with the text and the confidence that they have now.

    `second` is the text of the whole line. Return nothing if the two have too little in common.
    """
    joined = " ".join(word.text for word in first)
    if not first or Levenshtein.normalized_similarity(joined, second.text) < MIN_SIMILARITY:
        return []
    first = _join_parts(first, second.text)
    texts = _split_like([word.text for word in first], second.text)
    return [
        _weigh(word, text, second.confidence)
        for word, text in zip(first, texts, strict=True)
        if text or _is_evident(word)
    ]


def join_words(words: Sequence[OcrWord], separator: str = " ") -> OcrWord:
    """Return the words of a line as one."""
    left, top = words[0].left, min(word.top for word in words)
    width = words[-1].left + words[-1].width - left
    height = max(word.top + word.height for word in words) - top
    text = separator.join(word.text for word in words)
    letters = sum(len(word.text) for word in words)
    confidence = sum(len(word.text) * word.confidence for word in words) / letters
    return OcrWord(text, confidence, left, top, width, height, words[0].line)


def _join_parts(words: Sequence[OcrWord], text: str) -> list[OcrWord]:
    """Return Tesseract's words of a line, with those joined between which it omitted letters.

    In `text`, which the second engine read, there are only small letters between them, which fill
    the gap.
    """
    inserted = {
        edit.src_start: text[edit.dest_start : edit.dest_end]
        for edit in Levenshtein.opcodes("".join(word.text for word in words), text)
        if edit.tag == "insert"
    }
    joined, end = [words[0]], len(words[0].text)
    for word in words[1:]:
        before, letters = joined[-1], inserted.get(end, "")
        gap = word.left - before.left - before.width
        letter_width = (before.width + word.width) / (len(before.text) + len(word.text))
        if letters.isalpha() and letters.islower() and gap <= (len(letters) + 1) * letter_width:
            joined[-1] = join_words([before, word], "")
        else:
            joined.append(word)
        end += len(word.text)
    return joined


def _split_like(words: Sequence[str], text: str) -> list[str]:
    """Return the parts of a text that correspond to the words of another reading of it."""
    ends, end = [], 0
    for word in words:
        end += len(word)
        ends.append(end)
    plain = "".join(words)
    blocks = Levenshtein.opcodes(plain, text)
    parts, start = [], 0
    for end in ends:
        place = len(text)
        if end < len(plain):
            block = next(each for each in blocks if each.src_end >= end)
            place = min(block.dest_start + end - block.src_start, block.dest_end)
            before, after = text[start:place][-1:], text[place:].lstrip()[:1]
            if (before, after) != (plain[end - 1], plain[end]):
                place = _move_to_blank(text, place, start)
        parts.append(text[start:place].strip())
        start = place
    return parts


def _move_to_blank(text: str, place: int, start: int) -> int:
    """Return the place of the blank nearest to a place in a text, or the place if none is near.

    Where two readings of a letter differ, it is not known to which of two words the letter belongs.
    """
    near = sorted(range(-MAX_BORDER_SHIFT, MAX_BORDER_SHIFT + 1), key=abs)
    return next(
        (
            place + shift
            for shift in near
            if start < place + shift < len(text) and text[place + shift] == " "
        ),
        place,
    )


def _weigh(word: OcrWord, text: str, confidence: float) -> OcrWord:
    """Return a word with the surer of two texts. `confidence` is that of the second one."""
    if not text:
        return word
    is_second_surer = confidence >= word.confidence
    if word.confidence >= MIN_PLAIN_CONFIDENCE and _has_added_diacritics(text, word.text):
        return word
    chosen = replace(word, text=text, confidence=confidence) if is_second_surer else word
    if _letters(word.text) == _letters(text):
        return chosen
    has_number = bool(_DIGIT.search(word.text) or _DIGIT.search(text))
    if has_number and min(word.confidence, confidence) >= MIN_DISPUTE_CONFIDENCE:
        other = word.text if is_second_surer else text
        confidence = min(chosen.confidence, DISPUTED_CONFIDENCE)
        return replace(chosen, confidence=confidence, other=other)
    return chosen


def _is_evident(word: OcrWord) -> bool:
    """Return whether a word that only Tesseract read is print, and no line or noise."""
    return word.confidence >= MIN_WORD_CONFIDENCE and bool(_letters(word.text))


def _has_added_diacritics(text: str, plain: str) -> bool:
    """Return whether a text has the letters of a plain one, some with diacritics.

    The second engine takes dust above or below a letter for a diacritic. Those of Western European
    languages (ISO 8859-1) are more frequent in names than on dust, and do not count.
    """
    if text == plain or len(text) != len(plain):
        return False
    added = [new for new, old in zip(text, plain, strict=True) if new != old]
    letters = "".join(each for each in normalize("NFD", text) if not combining(each))
    return letters == plain and all(ord(each) > MAX_LATIN_1 for each in added)


def _letters(text: str) -> str:
    """Return the letters and digits of a text, without the signs between them."""
    return _SIGNS.sub("", text).casefold()


def _find_line(word: OcrWord, lines: Sequence[Sequence[OcrWord]]) -> int | None:
    """Return the index of the line of the second engine in which a word is, or None."""
    x, y = word.left + word.width / 2, word.top + word.height / 2
    for index, line in enumerate(lines):
        last = line[-1]
        if line[0].left <= x <= last.left + last.width and any(
            each.top <= y <= each.top + each.height for each in _beside(x, line)
        ):
            return index
    return None


def _beside(x: float, line: Sequence[OcrWord]) -> Iterable[OcrWord]:
    """Return the words of a line that are nearest to a place, because lines may be inclined."""
    return sorted(line, key=lambda word: abs(word.left + word.width / 2 - x))[:2]


def _order(
    first: Sequence[OcrWord],
    combined: Sequence[Sequence[OcrWord]],
    shared: Sequence[Sequence[OcrWord]],
    alone: Sequence[OcrWord],
) -> list[OcrWord]:
    """Return the words in Tesseract's reading order, and new lines behind those above them."""
    places = {id(word): place for place, word in enumerate(first)}
    keys: list[tuple[float, int, int]] = []
    for index, (line, known) in enumerate(zip(combined, shared, strict=True)):
        if known:
            keys.append((min(places[id(word)] for word in known), 0, index))
            continue
        above = [
            key
            for key, other in zip(keys, combined, strict=False)
            if other[0].left < line[-1].left + line[-1].width
            and line[0].left < other[-1].left + other[-1].width
        ]
        place = above[-1][0] if above else -1.0
        keys.append((place, 1, index))
    numbered = [
        (key, [replace(word, line=(_get_block(first, key), 0, index)) for word in line])
        for index, (key, line) in enumerate(zip(keys, combined, strict=True), start=1)
    ]
    numbered += [((places[id(word)], 0, 0), [word]) for word in alone]
    return [word for _, line in sorted(numbered, key=lambda each: each[0]) for word in line]


def _get_block(first: Sequence[OcrWord], key: tuple[float, int, int]) -> int:
    """Return the block of Tesseract's word at the place of a line, which tells pages of a sheet."""
    return first[max(int(key[0]), 0)].line[0] if first else 0
