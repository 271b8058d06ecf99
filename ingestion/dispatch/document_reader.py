"""The core's Reader: a file is read and checked in one task of the pool.

Only the verdict travels back. Checking in the shift's own process would cost its one interpreter
what another core has to spare.
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
from ingestion.rules.findings import Finding
from ingestion.storage.virus_scanner import scanner

PRELOAD = [verdict.__name__]


def warm_up(**_: Any) -> None:
    """Called in a new worker: a coordinator's first upload shall not wait for our imports."""
    parser_processes.warm_up(PRELOAD)


class CheckingReader:
    """Scanned for viruses first, where there is a scanner: a file that it names is not opened."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._scanner = scanner()

    @staticmethod
    def pool() -> Reader:
        """The pool that this reader wants. Whoever opens it closes it."""
        return Reader(settings.READING_LIMITS, preload=PRELOAD)

    async def read(self, item: WorkItem, fetched: Fetched) -> verdict.Checked:
        """Raises ScannerUnavailable, and ReadingFault: neither is the document's."""
        if self._scanner and (found := await self._scanner.scan(fetched.path)):
            alarm = Finding("MALWARE_SUSPECTED", facts={"signature": found})
            return verdict.Checked(verdict.verdict_of([alarm]))
        site = verdict.SiteFacts(
            site_id=item.site_id,
            name=item.site_name,
            protocol_number=item.protocol_number,
            protocol_version=item.protocol_version,
            activated_on=item.activated_on,
            overrides=item.overrides,
        )
        sent = verdict.Sent(item.schema_version, item.declared_type, _person(item), item.filename)
        today = timezone.now().date()
        check = partial(verdict.check_whatever, sent=sent, site=site, today=today)
        return await self._reader.read_then(check, fetched.path, fetched.sha256)


def _person(item: WorkItem) -> str:
    """Whose it is, as the sender said: in the doc_id of an upload (decision 12)."""
    kind = TYPES.get(item.declared_type)
    declared, _, person = item.doc_id.partition(".")
    is_said = kind and kind.per_person and not item.url and declared == kind.slug
    return person.replace("-", " ") if is_said else ""
