"""Identifies the language of a document from its text, for assessments only.

The identifier takes half a second and 125 MB of memory, so a process loads it when it judges its
first document, and no worker does.
"""

from functools import cache
from typing import Any

# ISO 639-1 codes of the languages of countries in which clinical trials are run. The identifier
# knows 140; short texts would be taken for one of the rare ones.
LANGUAGES = (
    "ar", "bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "he", "hi", "hr", "hu", "id",
    "it", "ja", "ko", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "th",
    "tr", "uk", "vi", "zh",
)  # fmt: skip
MIN_LETTERS = 40  # with fewer, the language is not known
MIN_PROBABILITY = 0.5
MAX_CHARACTERS = 4_000  # of a document that are used


def identify_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the main language of a text, or None if that is not known."""
    if sum(map(str.isalpha, text)) < MIN_LETTERS:
        return None
    code, probability = _load_identifier().classify(text[:MAX_CHARACTERS])
    return str(code) if probability >= MIN_PROBABILITY else None


@cache
def _load_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 - large

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(LANGUAGES)
    return identifier
