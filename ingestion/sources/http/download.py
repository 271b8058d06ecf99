"""One answer's body to the disk: paced, capped and looked at while it comes.

The loop only moves bytes into a block; hashing and writing are done in a thread, a block at a time.
"""

from collections.abc import Mapping
from pathlib import Path

import httpx2 as httpx

from ingestion.core.errors import PermanentError
from ingestion.reading.pdf.file_type import LOOKED_AT
from ingestion.sources.http.connections import InThread
from ingestion.sources.http.partial_file import PartialFile
from ingestion.sources.http.responses import check_not_sign_in_page, check_size
from ingestion.sources.http.throughput import ThroughputGuard

BLOCK_BYTES = 1 << 18  # bytes handed to the disk at a time


class BodyDownload:
    """Memory is one block and what the socket gives at a time, whatever the portal sends."""

    def __init__(
        self, part: PartialFile, pace: ThroughputGuard, max_bytes: int, in_thread: InThread
    ) -> None:
        self._part, self._pace = part, pace
        self._max_bytes, self._in_thread = max_bytes, in_thread
        self._resumed = part.size > 0  # what came before was looked at then
        self._came = part.size
        self._head = b""
        self._block = bytearray()

    async def run(self, response: httpx.Response) -> tuple[Path, str, int]:
        """As `Part.finish`. Also raises TooLarge, AccessRefused, PortalUnreachable."""
        try:
            # Raw: nothing is ever decompressed, so that nothing small becomes large.
            async for piece in response.aiter_raw():
                await self._take(piece, response.headers)
            self._look(response.headers)
        except PermanentError:
            await self._in_thread(self._part.drop)
            raise
        except BaseException:
            # On cancellation too: the total timeout is one, and what came is worth keeping.
            await self._in_thread(self._part.interrupt, bytes(self._block))
            raise
        return await self.finish()

    async def finish(self) -> tuple[Path, str, int]:
        """Nothing more comes."""
        finished: tuple[Path, str, int] = await self._in_thread(
            self._part.finish, bytes(self._block)
        )
        return finished

    async def _take(self, piece: bytes, headers: Mapping[str, str]) -> None:
        self._pace.add(len(piece))
        self._came += len(piece)
        check_size(self._came, self._max_bytes)
        if len(self._head) < LOOKED_AT:
            self._head += piece[:LOOKED_AT]
            if len(self._head) >= LOOKED_AT:
                self._look(headers)
        self._block += piece
        if len(self._block) >= BLOCK_BYTES:
            block = bytes(self._block)
            self._block.clear()
            await self._in_thread(self._part.write, block)

    def _look(self, headers: Mapping[str, str]) -> None:
        if not self._resumed:
            check_not_sign_in_page(self._head, headers)
