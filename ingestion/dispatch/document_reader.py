"""Implements the core's port `DocumentReader`: scans a file for viruses, parses it, checks it.

Parsing and checking are one task of the pool of parser processes, which returns the verdict only.
If the process of the shift did the checks, it would use one interpreter while other cores are idle.
"""

import asyncio
import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from audit.files import durable
from ingestion.core.container_entries import OpenedContainer
from ingestion.core.document_stages import DocumentStage, DocumentStageName, StageObserver
from ingestion.core.errors import ReadingFault
from ingestion.core.ports import Fetched, WorkItem
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.documents import expansion
from ingestion.documents.active_model import provide_active_model
from ingestion.reading.indirect_files import RenderedPages
from ingestion.reading.processes import parser_processes
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, MediaType, Unreadable
from ingestion.rules.checks import verdict
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.classification.model_file import ModelFile
from ingestion.rules.document_types import RULES_VERSION, TYPES
from ingestion.rules.findings import RuleFinding
from ingestion.storage import archive, finished_stages
from ingestion.storage.virus_scanner import get_scanner

logger = logging.getLogger(__name__)

PRELOAD = [verdict.__name__]
PORTFOLIO_FLAG = "portfolio"  # of `DocumentReading.flags`


def warm_up(**_: Any) -> None:
    """Start the parser processes of a new worker, so that the first upload does not wait for them.

    It receives django-q2's signal `post_spawn`.
    """
    parser_processes.warm_up(PRELOAD)


class PooledDocumentReader:
    """Reads documents in a pool of parser processes.

    If a virus scanner is configured, an infected file is rejected without being opened.
    """

    def __init__(self, reader: Reader, observe: StageObserver) -> None:
        self._reader = reader
        self._observe = observe
        self._scanner = get_scanner()
        self._model: ModelFile | None = None  # None: the built-in model
        self._model_fault: ReadingFault | None = None
        self._may_expand = False  # until the first refresh

    @staticmethod
    def pool() -> Reader:
        """Return the pool that the constructor needs. The caller opens and closes it."""
        return Reader(
            settings.READING_LIMITS,
            preload=PRELOAD,
            log_config=settings.LOGGING,
            kept_pages=finished_stages.get_pages_folder(),
        )

    async def refresh_model(self, database: DatabaseThread) -> None:
        """Use the model of document types that is active now.

        Documents that are being read keep the model with which they began. If the model is not the
        one that was trained, `read` raises ReadingFault until another one is active.
        """
        before = self._model
        self._may_expand = self._may_expand or await database(expansion.is_enabled)
        try:
            self._model = await database(provide_active_model, self._reader.scratch, before)
        except ReadingFault as fault:
            self._model_fault = fault
            return
        self._model_fault = None
        if self._model != before:
            version = self._model.rules_version if self._model else RULES_VERSION
            logger.info("documents are judged by the rules %s", version)

    async def read(self, item: WorkItem, fetched: Fetched) -> verdict.CheckedDocument:
        """Return the verdict about the document.

        Raises ScannerUnavailable or ReadingFault if it cannot be read now. Then it is held.
        """
        started_ns = time.time_ns()
        checked = await self._read(item, fetched)
        if checked.checked_ns:
            read_ns, checked_ns = checked.checked_ns
            self._observe(item, DocumentStage(DocumentStageName.READ, started_ns, read_ns))
            self._observe(item, DocumentStage(DocumentStageName.CHECK, read_ns, checked_ns))
        else:
            self._observe(item, DocumentStage.ending_now(DocumentStageName.READ, started_ns))
        return checked

    async def _read(self, item: WorkItem, fetched: Fetched) -> verdict.CheckedDocument:
        if self._model_fault:
            raise self._model_fault
        if self._scanner and (found := await self._scanner.scan(fetched.path)):
            alarm = RuleFinding("MALWARE_SUSPECTED", facts={"signature": found})
            return verdict.CheckedDocument(verdict.make_verdict_from_findings([alarm]))
        rendered = await self._open_rendition(item)
        opened = await self._reader.open_indirect(fetched.path, fetched.sha256, rendered)
        if isinstance(opened, Unreadable | OpenedContainer):
            return self._conclude_unread(opened)
        checked = await self._reader.read_then(
            self._make_check(item),
            fetched.path,
            fetched.sha256,
            pages=item.part.numbers if item.part else None,
            rendered=opened,
            expected_language=item.language,
        )
        if opened:
            made = await asyncio.to_thread(_describe_rendition, opened) if opened.tool else None
            return replace(checked, rendition=made, is_rendition=True)
        if _is_portfolio_to_open(item, checked):
            portfolio = await self._reader.open_portfolio(fetched.path, fetched.sha256)
            return self._conclude_unread(portfolio)
        return checked

    def _make_check(
        self, item: WorkItem
    ) -> Callable[[DocumentReading | Unreadable], verdict.CheckedDocument]:
        """Return the function that judges the reading of a document, in a parser process."""
        site = SiteFacts(
            site_id=item.site_id,
            name=item.site_name,
            country=item.site_country,
            protocol_number=item.protocol_number,
            protocol_version=item.protocol_version,
            activated_on=item.activated_on,
            investigator=item.investigator,
            investigator_licence=item.investigator_licence,
            overrides=item.overrides,
        )
        kind = TYPES.get(item.declared_type)
        person = item.person if kind and kind.per_person else ""
        sent = SenderFacts(
            item.schema_version,
            item.declared_type,
            person,
            item.filename,
            item.is_doubtful,
            item.language,
            item.version,
        )
        return partial(
            verdict.check_or_reject,
            sent=sent,
            site=site,
            today=timezone.now().date(),
            part=item.part,
            model=self._model,
        )

    async def _open_rendition(self, item: WorkItem) -> Path | None:
        """Return a local file with the rendition from which a document was read before, or None.

        Raises StorageUnavailable.
        """
        if not item.rendition:
            return None
        return await asyncio.to_thread(archive.open_local, item.rendition, self._reader.scratch)

    def _conclude_unread(self, opened: OpenedContainer | Unreadable) -> verdict.CheckedDocument:
        """Return the result for a container, or for a file that could not be opened.

        Raises ReadingFault during an upgrade, when containers must not be expanded yet.
        """
        if isinstance(opened, Unreadable):
            return verdict.CheckedDocument(verdict.make_verdict_of_unreadable(opened))
        if not self._may_expand:
            shutil.rmtree(opened.folder, ignore_errors=True)
            raise ReadingFault("containers are opened when the upgrade of SiteLedger is finished")
        version = self._model.rules_version if self._model else RULES_VERSION
        settled = replace(verdict.make_verdict_from_findings([]), rules_version=version)
        return verdict.CheckedDocument(settled, container=opened)


def _is_portfolio_to_open(item: WorkItem, checked: verdict.CheckedDocument) -> bool:
    """Return whether a file that was read is a PDF portfolio whose entries become documents.

    One with scripts or the like is in quarantine. QA looks at it before anything in it is opened.
    """
    is_portfolio = checked.read is not None and PORTFOLIO_FLAG in checked.read.flags
    return is_portfolio and item.part is None and not checked.verdict.is_quarantined


def _describe_rendition(pages: RenderedPages) -> RenderedFile:
    """Return the rendition that was just made of a document of a word processor."""
    digest = durable.hash_file(pages.path)
    return RenderedFile(
        RenditionKind.OFFICE_PDF, pages.path, *digest, str(MediaType.PDF), pages.tool
    )
