"""The pages of an open document."""

import pypdfium2

MOST_LOADED = 8  # more are not seen again before their marks are asked for, and fill the memory


class OpenPages:
    """By their numbers, from 1. Those loaded last stay loaded, until their document is closed.

    Loading is most of what a page costs, and its marks may be asked for after it was read.
    """

    def __init__(self, opened: pypdfium2.PdfDocument) -> None:
        self._opened = opened
        self._loaded: dict[int, pypdfium2.PdfPage] = {}

    def load(self, number: int) -> pypdfium2.PdfPage:
        """Raises PdfiumError."""
        if number not in self._loaded:
            if len(self._loaded) >= MOST_LOADED:
                self.unload(next(iter(self._loaded)))
            self._loaded[number] = self._opened.get_page(number - 1)
        return self._loaded[number]

    def unload(self, number: int) -> None:
        self._loaded.pop(number).close()
