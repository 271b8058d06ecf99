"""Implements the core's port `DocumentReader`: scans a file for viruses, parses it, checks it.

Parsing and checking are one task of the pool of parser processes, which returns the verdict only.
If the process of the shift did the checks, it would use one interpreter while other cores are idle.
"""

import logging
from functools import partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from ingestion.core.errors import ReadingFault
from ingestion.core.ports import Fetched, WorkItem
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.documents.active_model import provide_active_model
from ingestion.reading.processes import parser_processes
from ingestion.reading.processes.pool import Reader
from ingestion.rules.checks import verdict
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.classification.model_file import ModelFile
from ingestion.rules.document_types import RULES_VERSION, TYPES
from ingestion.rules.findings import RuleFinding
from ingestion.storage.virus_scanner import get_scanner

logger = logging.getLogger(__name__)

PRELOAD = [verdict.__name__]


def warm_up(**_: Any) -> None:
    """Start the parser processes of a new worker, so that the first upload does not wait for them.

    It receives django-q2's signal `post_spawn`.
    """
    parser_processes.warm_up(PRELOAD)


class PooledDocumentReader:
    """Reads documents in a pool of parser processes.

    If a virus scanner is configured, an infected file is rejected without being opened.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._scanner = get_scanner()
        self._model: ModelFile | None = None  # None: the built-in model
        self._model_fault: ReadingFault | None = None

    @staticmethod
    def pool() -> Reader:
        """Return the pool that the constructor needs. The caller opens and closes it."""
        return Reader(settings.READING_LIMITS, preload=PRELOAD)

    async def refresh_model(self, database: DatabaseThread) -> None:
        """Use the model of document types that is active now.

        Documents that are being read keep the model with which they began. If the model is not the
        one that was trained, `read` raises ReadingFault until another one is active.
        """
        before = self._model
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
        if self._model_fault:
            raise self._model_fault
        if self._scanner and (found := await self._scanner.scan(fetched.path)):
            alarm = RuleFinding("MALWARE_SUSPECTED", facts={"signature": found})
            return verdict.CheckedDocument(verdict.make_verdict_from_findings([alarm]))
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
        sent = SenderFacts(item.schema_version, item.declared_type, person, item.filename)
        today = timezone.now().date()
        check = partial(
            verdict.check_or_reject,
            sent=sent,
            site=site,
            today=today,
            part=item.part,
            model=self._model,
        )
        pages = item.part.numbers if item.part else None
        return await self._reader.read_then(check, fetched.path, fetched.sha256, pages=pages)
