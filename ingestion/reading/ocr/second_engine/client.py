"""Asks the process of the second OCR engine to read a page."""

import socket
import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from ingestion.reading.images.render import GreyArray
from ingestion.reading.languages import has_east_asian_characters
from ingestion.reading.ocr.engines import OcrFailed, OcrTimeout, OcrWord
from ingestion.reading.ocr.page_language import UNSPACED_WORD_GAP, join_characters

from .launch import SOCKET_NAME
from .protocol import MAX_RESPONSE_BYTES, READY, LineWord, PageRequest, PageResponse

CONNECT_PAUSE_SECONDS = 0.1
# Between letters or digits of one word in a line of Chinese or Japanese, in heights of the line.
MAX_LETTER_GAP = 0.12
MAX_CONNECT_SECONDS = 10.0  # that the process takes to start, on a busy machine


class SecondEngine:
    """The second OCR engine of this host.

    `note` is for the provenance of a document: the version of the engine if it has read a page, or
    why it has not. It is empty as long as no page needed it.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        """`folder` has its socket. `seconds` is the time limit for one page."""
        self.note = ""
        self._seconds = seconds
        self._path = str(folder / SOCKET_NAME)

    def read_page(self, grey: GreyArray) -> list[OcrWord]:
        """Return the words of an upright page, line by line from top to bottom.

        Raises OcrTimeout if it takes too long, with the time for which others use the engine, and
        OcrFailed if the engine does not run or fails.
        """
        try:
            return self._read_page(grey, time.monotonic() + self._seconds)
        except OcrFailed as error:
            self.note = f"without the second engine: {error}"
            raise

    def _read_page(self, grey: GreyArray, deadline: float) -> list[OcrWord]:
        height, width = grey.shape
        request = PageRequest(height=height, width=width, deadline=deadline)
        try:
            with self._connect(min(deadline, time.monotonic() + MAX_CONNECT_SECONDS)) as connection:
                # The engine is ready when it has answered everybody who came before.
                _wait(connection, deadline)
                connection.recv_bytes(len(READY))
                connection.send_bytes(request.model_dump_json().encode())
                connection.send_bytes(np.ascontiguousarray(grey).tobytes())
                _wait(connection, deadline)
                answer = connection.recv_bytes(MAX_RESPONSE_BYTES)
        except (OSError, EOFError) as error:
            raise OcrFailed(f"the second OCR engine does not respond: {error}") from error
        response = PageResponse.model_validate_json(answer)
        if response.error:
            raise OcrFailed(f"the second OCR engine failed: {response.error}")
        self.note = response.version
        return [
            word
            for number, line in enumerate(response.lines, start=1)
            for word in _to_words(line, number)
        ]

    def _connect(self, deadline: float) -> Connection:
        """Return a connection to the process, which may just be starting. Raises OSError."""
        while True:
            link = socket.socket(socket.AF_UNIX)
            try:
                link.connect(self._path)
            except (FileNotFoundError, ConnectionRefusedError):
                link.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(CONNECT_PAUSE_SECONDS)
            else:
                return Connection(link.detach())


def _wait(connection: Connection, deadline: float) -> None:
    """Wait until the engine sends something. Raises OcrTimeout."""
    if not connection.poll(max(deadline - time.monotonic(), 0.0)):
        raise OcrTimeout


def _to_words(line: Sequence[LineWord], number: int) -> Iterable[OcrWord]:
    """Return the words of a line. In a line of Chinese or Japanese, each character is a word."""
    words = [_to_word(word, number) for word in line]
    if not any(has_east_asian_characters(word.text) for word in line):
        return words
    return join_characters(words, UNSPACED_WORD_GAP, MAX_LETTER_GAP)


def _to_word(word: LineWord, line: int) -> OcrWord:
    width, height = max(word.right - word.left, 1), max(word.bottom - word.top, 1)
    return OcrWord(word.text, word.confidence, word.left, word.top, width, height, (1, 1, line))
