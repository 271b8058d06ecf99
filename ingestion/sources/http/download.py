"""Downloads the body of one response to disk, with limits on its size and its throughput.

The event loop only collects bytes in a block. Hashing and writing run in a thread, one block at a
time.
"""

from collections.abc import Mapping
from pathlib import Path

import httpx2 as httpx

from ingestion.core.errors import PermanentError
from ingestion.reading.pdf.file_type import HEADER_WINDOW_BYTES
from ingestion.sources.http.connections import InThread
from ingestion.sources.http.partial_file import PartialFile
from ingestion.sources.http.responses import check_not_sign_in_page, check_size
from ingestion.sources.http.throughput import ThroughputGuard

BLOCK_BYTES = 1 << 18  # collected before they are written


class BodyDownload:
    """Uses the memory of one block and one read of the socket, however large the body is."""

    def __init__(
        self, part: PartialFile, throughput: ThroughputGuard, max_bytes: int, in_thread: InThread
    ) -> None:
        self._part, self._throughput = part, throughput
        self._max_bytes, self._in_thread = max_bytes, in_thread
        self._is_continued = part.size > 0  # The beginning was checked by the earlier request.
        self._received = part.size  # bytes
        self._head = b""
        self._block = bytearray()

    async def run(self, response: httpx.Response) -> tuple[Path, str, int]:
        """Receive the body and return what `PartialFile.finish` returns.

        Also raises TooLarge, AccessRefused and PortalUnreachable.
        """
        try:
            # The raw bytes: nothing is decompressed, so no small body becomes a large one.
            async for piece in response.aiter_raw():
                await self._receive(piece, response.headers)
            self._check_head(response.headers)
        except PermanentError:
            await self._in_thread(self._part.drop)
            raise
        except BaseException:
            # Including cancellation: the total timeout cancels, and the bytes are worth keeping.
            await self._in_thread(self._part.interrupt, bytes(self._block))
            raise
        return await self.finish()

    async def finish(self) -> tuple[Path, str, int]:
        """Write the last bytes and return what `PartialFile.finish` returns."""
        finished: tuple[Path, str, int] = await self._in_thread(
            self._part.finish, bytes(self._block)
        )
        return finished

    async def _receive(self, piece: bytes, headers: Mapping[str, str]) -> None:
        self._throughput.add(len(piece))
        self._received += len(piece)
        check_size(self._received, self._max_bytes)
        if len(self._head) < HEADER_WINDOW_BYTES:
            self._head += piece[:HEADER_WINDOW_BYTES]
            if len(self._head) >= HEADER_WINDOW_BYTES:
                self._check_head(headers)
        self._block += piece
        if len(self._block) >= BLOCK_BYTES:
            block = bytes(self._block)
            self._block.clear()
            await self._in_thread(self._part.write, block)

    def _check_head(self, headers: Mapping[str, str]) -> None:
        if not self._is_continued:
            check_not_sign_in_page(self._head, headers)
