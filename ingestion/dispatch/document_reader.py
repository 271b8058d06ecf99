"""Implements the core's `DocumentReader`: scans a file for viruses, then parses and checks it.

Parsing and checking are one task of the pool of parser processes, and only the verdict returns.
Checking in the process of the shift would use its one interpreter while other cores are idle.
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from ingestion.core.ports import Fetched, WorkItem
from ingestion.reading.processes import parser_processes
from ingestion.reading.processes.pool import Reader
from ingestion.rules.checks import verdict
from ingestion.rules.document_types import TYPES
from ingestion.rules.findings import RuleFinding
from ingestion.storage.virus_scanner import get_scanner

PRELOAD = [verdict.__name__]


def warm_up(**_: Any) -> None:
    """Start the parser processes in a new worker, so that the first upload does not wait for it."""
    parser_processes.warm_up(PRELOAD)


class PooledDocumentReader:
    """Reads documents in the pool. With a virus scanner, an infected file is not opened."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._scanner = get_scanner()

    @staticmethod
    def pool() -> Reader:
        """Return the pool that this reader needs. The caller opens and closes it."""
        return Reader(settings.READING_LIMITS, preload=PRELOAD)

    async def read(self, item: WorkItem, fetched: Fetched) -> verdict.Checked:
        """Return the verdict. Raises ScannerUnavailable and ReadingFault: the document is held."""
        if self._scanner and (found := await self._scanner.scan(fetched.path)):
            alarm = RuleFinding("MALWARE_SUSPECTED", facts={"signature": found})
            return verdict.Checked(verdict.verdict_of([alarm]))
        site = verdict.SiteFacts(
            site_id=item.site_id,
            name=item.site_name,
            protocol_number=item.protocol_number,
            protocol_version=item.protocol_version,
            activated_on=item.activated_on,
            overrides=item.overrides,
        )
        person = _declared_person(item)
        sent = verdict.Sent(item.schema_version, item.declared_type, person, item.filename)
        today = timezone.now().date()
        check = partial(verdict.check_whatever, sent=sent, site=site, today=today)
        return await self._reader.read_then(check, fetched.path, fetched.sha256)


def _declared_person(item: WorkItem) -> str:
    """Return whose document it is, as the doc_id of an upload says (decision 12), or ""."""
    kind = TYPES.get(item.declared_type)
    declared, _, person = item.doc_id.partition(".")
    is_declared = kind and kind.per_person and not item.url and declared == kind.slug
    return person.replace("-", " ") if is_declared else ""
