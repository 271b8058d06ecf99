"""Opens the pages of a document, and limits deferred work on them."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pypdfium2

from ingestion.reading.images.page_objects import PageObject, iter_annotations
from ingestion.reading.images.render import (
    PAGE_ERRORS,
    PlacedImage,
    describe_page_error,
    list_images,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.process_limits import limit_page_time
from ingestion.reading.reading_stages import Stage, StageOutOfTime, limit_stage
from ingestion.reading.results import Box
from ingestion.reading.stamp_words import StampLine

from .lazy import LazyReadError

StampMemory = dict[tuple[object, ...], "KnownStamp | None"]

MAX_LOADED_PAGES = 8  # more are seldom needed again before their marks are, and fill the memory
# Of the images of all loaded pages. PDFium keeps each image that it has drawn, with four bytes a
# pixel, until its page is closed.
MAX_LOADED_PIXELS = 60_000_000


class KnownStamp(NamedTuple):
    """A stamp that is drawn on a page, with the place of its ink as shares of what draws it."""

    stamp: StampLine
    place: Box


class OpenPages:
    """The pages of an open document by number, from 1.

    The pages that were loaded last remain loaded until the document is closed. Loading is most of
    a page's cost, and its words and marks may be needed after its text was read. A page with many
    pixels of images is closed when another one is needed.
    """

    def __init__(self, opened: pypdfium2.PdfDocument) -> None:
        self._opened = opened
        self._loaded: dict[int, pypdfium2.PdfPage] = {}
        self._layers: dict[int, pypdfium2.PdfTextPage] = {}
        self._pixels: dict[int, int] = {}  # of the images of pages whose images were listed
        self.known_stamps: StampMemory = {}  # of pages that were read, see `drawn_stamps`

    @property
    def all_remain_loaded(self) -> bool:
        """Return whether no page is closed to load another one."""
        return len(self._opened) <= MAX_LOADED_PAGES

    def load(self, number: int) -> pypdfium2.PdfPage:
        """Return a page. Raises PdfiumError."""
        if self._pixels.get(number):
            self._make_room_for_images(number)
        if number not in self._loaded:
            if len(self._loaded) >= MAX_LOADED_PAGES:
                self.unload(next(iter(self._loaded)))
            self._loaded[number] = self._opened.get_page(number - 1)
        return self._loaded[number]

    def list_images(
        self, number: int, limits: ReadingLimits, objects: Iterable[PageObject] | None = None
    ) -> list[PlacedImage]:
        """Return the images of a page. `objects` are its objects, if they were listed already.

        Raises PageUnreadable if the page or its images exceed the limits, and PdfiumError.
        """
        images = list_images(self.load(number), limits, objects)
        self._pixels[number] = sum(math.prod(image.pixels) for image in images)
        return images

    def _make_room_for_images(self, number: int) -> None:
        """Close pages with images until those of the others and of this page may be decoded."""
        others = [each for each in self._loaded if each != number and self._pixels.get(each)]
        pixels = sum(map(self._pixels.__getitem__, (number, *others)))
        for other in others:
            if pixels <= MAX_LOADED_PIXELS:
                break
            pixels -= self._pixels[other]
            self.unload(other)

    def text_layer(self, number: int) -> pypdfium2.PdfTextPage:
        """Return the text layer of a page. Raises PdfiumError."""
        page = self.load(number)
        if number not in self._layers:
            self._layers[number] = page.get_textpage()
        return self._layers[number]

    def has_annotations(self, number: int) -> bool:
        """Return whether a page has annotations, including form fields.

        Return True for a page that cannot be loaded.
        """
        try:
            return any(True for _ in iter_annotations(self.load(number)))
        except pypdfium2.PdfiumError:
            return True

    def unload(self, number: int) -> None:
        """Close a loaded page and its text layer."""
        if layer := self._layers.pop(number, None):
            layer.close()
        self._loaded.pop(number).close()


@contextmanager
def limit_deferred_work(number: int, stage: Stage, limits: ReadingLimits) -> Iterator[None]:
    """Apply the time limit of a stage to work on page `number` after the probe.

    Raises LazyReadError if the page fails or the stage exceeds its time.
    """
    try:
        with limit_page_time(limits.first_look_seconds), limit_stage(number, stage):
            yield
    except StageOutOfTime as error:
        raise LazyReadError(number, f"{stage}: it took too long", stage) from error
    except PAGE_ERRORS as error:
        raise LazyReadError(number, describe_page_error(error)) from error
