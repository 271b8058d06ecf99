"""The pages of an open document."""

from collections.abc import Iterator
from contextlib import contextmanager

import pypdfium2

from ingestion.reading.images.page_objects import annotations
from ingestion.reading.images.render import PAGE_ERRORS, error_text
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.process_limits import page_time_limit

from .lazy import LazyReadError

MAX_PAGES_LOADED = (
    8  # more are not seen again before their marks are asked for, and fill the memory
)


class OpenPages:
    """By their numbers, from 1. Those loaded last stay loaded, until their document is closed.

    Loading is most of what a page costs, and its words and marks may be asked for after it was
    read.
    """

    def __init__(self, opened: pypdfium2.PdfDocument) -> None:
        self._opened = opened
        self._loaded: dict[int, pypdfium2.PdfPage] = {}
        self._layers: dict[int, pypdfium2.PdfTextPage] = {}

    def load(self, number: int) -> pypdfium2.PdfPage:
        """Raises PdfiumError."""
        if number not in self._loaded:
            if len(self._loaded) >= MAX_PAGES_LOADED:
                self.unload(next(iter(self._loaded)))
            self._loaded[number] = self._opened.get_page(number - 1)
        return self._loaded[number]

    def text_layer(self, number: int) -> pypdfium2.PdfTextPage:
        """Raises PdfiumError."""
        page = self.load(number)
        if number not in self._layers:
            self._layers[number] = page.get_textpage()
        return self._layers[number]

    def has_annotations(self, number: int) -> bool:
        """Return whether any is on the page, fields among them. True where it cannot be loaded."""
        try:
            return any(True for _ in annotations(self.load(number)))
        except pypdfium2.PdfiumError:
            return True

    def unload(self, number: int) -> None:
        if layer := self._layers.pop(number, None):
            layer.close()
        self._loaded.pop(number).close()


@contextmanager
def deferred_work(number: int, limits: ReadingLimits) -> Iterator[None]:
    """Around a late look at a page: bounded as the first one was. Raises LateUnreadableError."""
    try:
        with page_time_limit(limits.page_seconds):
            yield
    except PAGE_ERRORS as error:
        raise LazyReadError(number, error_text(error)) from error
