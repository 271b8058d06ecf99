"""Readings of documents with given words."""

from ingestion.reading.results import Box, DocumentReading, MediaType, PageReading, TextSource, Word


def read_texts(*texts):
    """Return a reading with a page for each text, whose words stand in one line."""
    pages = []
    for number, text in enumerate(texts, 1):
        words = tuple(
            Word(word, Box(20 * at, 10, 20 * at + 15, 20), 90.0)
            for at, word in enumerate(text.split())
        )
        pages.append(PageReading(number, 612, 792, text, TextSource.OCR, words))
    return DocumentReading(MediaType.PDF, tuple(pages), engine="an engine")
