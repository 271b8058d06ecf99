"""Implements the core's port `Recorder`: turns each move of a document into a fenced step."""

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any
from uuid import UUID

from structlog.contextvars import get_contextvars

from ingestion.core.ports import EarlyDecision, Fetched, FetchFailure, NotModified, WorkItem
from ingestion.core.states import DocumentState
from ingestion.dispatch.step_batcher import StepBatcher
from ingestion.dispatch.worker_steps import (
    Conclude,
    RecordEarlyDecision,
    RecordFetchFailure,
    RecordUnchanged,
    StartAttempt,
    StartChecking,
)
from ingestion.documents.renditions import store_rendition
from ingestion.rules.checks.verdict import CheckedDocument
from ingestion.storage import finished_stages, spool
from ingestion.storage.archive import get_archive


class DatabaseRecorder:
    """Records the moves of a shift's documents in the database.

    `leases` maps the primary key of a chunk to the lease under which the shift holds it; the shift
    adds to it. `files` is the executor for blocking work with files. `settle`, `finish` and
    `postpone` are methods of the shift, which keeps the chunks in memory; `settle` receives the
    state in which each document was settled.

    This layer exists because the core knows neither leases nor storage: it adds the lease to each
    move, and it archives the bytes before the row says that they are archived.
    """

    def __init__(  # noqa: PLR0913 - the parts of one shift
        self,
        apply_step: StepBatcher,
        files: Executor,
        leases: Mapping[int, UUID],
        settle: Callable[[WorkItem, DocumentState], None],
        *,
        max_attempts: int,
        finish: Callable[[WorkItem], None],
        postpone: Callable[[str, Sequence[WorkItem]], None],
    ) -> None:
        self._apply_step = apply_step
        self._files = files
        self._leases = leases
        self._settle = settle
        self._max_attempts = max_attempts
        self.finish = finish
        self.postpone = postpone

    async def start_attempt(self, item: WorkItem) -> bool:
        """Count an attempt. Returns False if the attempts were used up and the document is held."""
        step = StartAttempt(**self._fence(item), max_attempts=self._max_attempts)
        is_started = bool(await self._apply_step(step))
        if not is_started:
            self._settle(item, DocumentState.HELD)
        return is_started

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        """Record that the bytes are here. Returns False if the same bytes are on file already.

        An uploaded file that is on file already leaves the spool.
        """
        is_new = bool(await self._apply_step(StartChecking(**self._fence(item), fetched=fetched)))
        if not is_new:
            self._settle(item, DocumentState.DEDUPED)
            await self._drop_stages(item, fetched)
        return is_new

    async def record_unchanged(self, item: WorkItem, answer: NotModified) -> bool:
        """Record that the version on file is current. Returns False if it is no longer on file."""
        if item.filed is None:
            return False
        step = RecordUnchanged(**self._fence(item), filed=item.filed, answer=answer)
        is_current = bool(await self._apply_step(step))
        if is_current:
            self._settle(item, DocumentState.DEDUPED)
        return is_current

    async def conclude(self, item: WorkItem, fetched: Fetched, checked: CheckedDocument) -> None:
        """Archive the bytes, then record state and entry. `Conclude` explains the order.

        The bytes of a new rendition, and of the entries of a container, are archived first too.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._files, _archive, fetched, checked)
        state = await self._apply_step(Conclude(**self._fence(item), checked=checked))
        self._settle(item, state)
        await self._drop_stages(item, fetched)

    async def record_fetch_failure(self, item: WorkItem, failure: FetchFailure) -> None:
        """Record a failed request, and when it is repeated."""
        await self._apply_step(RecordFetchFailure(**self._fence(item), failure=failure))

    async def record_early_decision(self, item: WorkItem, decision: EarlyDecision) -> None:
        """Reject or hold a document that was not read."""
        step = RecordEarlyDecision(**self._fence(item), decision=decision)
        self._settle(item, await self._apply_step(step))

    def _fence(self, item: WorkItem) -> dict[str, Any]:
        """Return the arguments that all steps have."""
        lease = self._leases[item.chunk]
        return {"document": item.document, "lease": lease, "logged": get_contextvars()}

    async def _drop_stages(self, item: WorkItem, fetched: Fetched) -> None:
        """Remove what was kept until the document was decided: an upload, and finished stages."""

        def drop() -> None:
            finished_stages.drop(item.document, fetched.sha256)
            if item.spooled:
                spool.drop_upload(item.spooled)

        await asyncio.get_running_loop().run_in_executor(self._files, drop)


def _archive(fetched: Fetched, checked: CheckedDocument) -> None:
    """Archive a file with its rendition or its entries, and remove their local files.

    Raises StorageUnavailable.
    """
    archive = get_archive()
    archive.put(fetched.path, fetched.sha256)
    if checked.rendition:
        store_rendition(checked.rendition)
        checked.rendition.path.unlink(missing_ok=True)
    if checked.container:
        for entry in checked.container.documents:
            archive.put(entry.path, entry.sha256)
        shutil.rmtree(checked.container.folder, ignore_errors=True)
