"""Checks that OCR could read each page in its language.

A page in a language that is not installed is our own problem: the document is held until
operations has installed the language, and is then read again.
"""

from collections.abc import Iterator

from ingestion.reading.languages import NAMES
from ingestion.reading.results import DocumentReading
from ingestion.rules.findings import Facts, RuleFinding


def check_languages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield LANGUAGE_NOT_INSTALLED for each page that OCR could not read in its language."""
    for page in reading.pages:
        if page.is_language_missing:
            language = NAMES.get(page.language, page.language)
            facts: Facts = {"language": language, "data": page.language, "page": page.number}
            yield RuleFinding("LANGUAGE_NOT_INSTALLED", page.number, facts)


CHECKS_OF_ANY_FILE = (check_languages,)
