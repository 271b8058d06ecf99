"""Reports what changed rules or another model would decide differently about filed documents.

Each document is read and checked again as a worker would do it, as on the day on which it was
decided. Nothing about the document changes: the report names the differences, and a person decides
what follows from them.
"""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.conf import settings
from django.db.models import QuerySet

from audit import background_jobs, job_runs
from audit.background_jobs import AuditJob
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from ingestion.core.states import DocumentState
from ingestion.documents.active_model import find_model, write_model_file
from ingestion.documents.renditions import find_read_rendition
from ingestion.documents.site_facts import build_site_facts
from ingestion.models import Decision, Document, LearnedModel
from ingestion.review.decision_rules import FILING_ACTIONS
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import CheckedDocument, DocumentVerdict, check_or_reject
from ingestion.rules.classification.model_file import ModelFile
from ingestion.rules.document_types import RULES_VERSION
from ingestion.storage import archive
from sites.models import Site

if TYPE_CHECKING:
    from ingestion.reading.processes.pool import Reader

KIND = "rejudge_filed"
EVENT = "rules.compared"
DEFAULT_DOCUMENTS = 200  # the newest ones, if no number is given
MAX_LISTED_DIFFERENCES = 1_000

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Difference:
    """A filed document that would be decided differently. `was_...` is what was decided."""

    document: int
    name: str
    site: str
    was_type: str
    was_state: str  # that the checks gave; QA may have filed the document in spite of it
    was_rules: str
    type: str
    state: str
    codes: list[str]


@dataclass(slots=True)
class RejudgementReport:
    """The differences of some filed documents, and how many were judged again."""

    rules: str
    documents: int = 0
    unreadable: int = 0  # their file is missing, or the software failed to read it
    different: int = 0
    differences: list[Difference] = field(default_factory=list)  # at most MAX_LISTED_DIFFERENCES

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dict, as it is stored."""
        return asdict(self)


def find_filed_documents(site: str = "", limit: int = DEFAULT_DOCUMENTS) -> "QuerySet[Document]":
    """Return the newest filed documents, of one site or of all."""
    rows = Document.objects.on_file().select_related("site__study").order_by("-pk")
    return (rows.filter(site__site_id=site) if site else rows)[:limit]


def rejudge(
    documents: Sequence[Document],
    model: LearnedModel | None,
    *,
    by: Actor,
    progress: Progress = lambda _done, _total: None,
) -> RejudgementReport:
    """Judge filed documents again, record that in the ledger, and return the differences.

    Raises ReadingFault, and OSError if the archive cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="siteledger-rejudgement-") as folder:
        file = write_model_file(model, Path(folder)) if model else None
        report = RejudgementReport(file.rules_version if file else RULES_VERSION)
        rendered, sites = _find_renditions(documents), _find_sites(documents)
        checked = asyncio.run(_check_all(documents, rendered, sites, file, progress))
    was_states = _find_automatic_states(documents)
    report.documents = len(documents)
    for document in documents:
        found = checked.get(document.pk)
        was_state = was_states.get(document.pk, DocumentState.ARCHIVED)
        if found is None:
            report.unreadable += 1
        elif difference := _compare(document, was_state, found.verdict):
            report.different += 1
            if report.different <= MAX_LISTED_DIFFERENCES:
                report.differences.append(difference)
    with ledger():
        record(
            EVENT,
            subject=f"rejudgement:{uuid4()}",
            by=by,
            sha256=model.sha256 if model else "",
            rules=report.rules,
            detail={
                "documents": report.documents,
                "different": report.different,
                "unreadable": report.unreadable,
            },
        )
    return report


def run_rejudgement_job(job: AuditJob) -> Mapping[str, Any]:
    """Judge the newest filed documents again with the model that the job names."""
    arguments = job.arguments
    return rejudge(
        list(find_filed_documents(limit=arguments.get("limit", DEFAULT_DOCUMENTS))),
        find_model(arguments["model"]),
        by=background_jobs.get_requester(job),
        progress=partial(job_runs.report_progress, job),
    ).as_json()


def _compare(
    document: Document, was_state: DocumentState, verdict: DocumentVerdict
) -> Difference | None:
    if (verdict.document_type, verdict.state) == (document.document_type, was_state):
        return None
    return Difference(
        document=document.pk,
        name=document.doc_id,
        site=document.site.site_id,
        was_type=document.document_type,
        was_state=str(was_state),
        was_rules=document.rules_version,
        type=verdict.document_type,
        state=str(verdict.state),
        codes=list(dict.fromkeys(each.code for each in verdict.findings)),
    )


async def _check_all(
    documents: Sequence[Document],
    rendered: Mapping[int, str],
    sites: Mapping[int, SiteFacts],
    model: ModelFile | None,
    progress: Progress,
) -> dict[int, CheckedDocument]:
    limits = settings.READING_LIMITS
    waiting = asyncio.Semaphore(limits.processes)
    found: dict[int, CheckedDocument] = {}
    done = 0

    async def check(reader: "Reader", document: Document) -> None:
        nonlocal done
        async with waiting:
            # A document whose file is missing is counted as unreadable.
            with suppress(FileNotFoundError):
                found[document.pk] = await _judge_again(
                    reader, document, rendered.get(document.pk), sites[document.site_id], model
                )
            done += 1
            progress(done, len(documents))

    from ingestion.reading.processes.pool import Reader  # noqa: PLC0415 - large libraries

    async with Reader(limits) as reader:
        await asyncio.gather(*(check(reader, document) for document in documents))
    return found


async def _judge_again(
    reader: "Reader",
    document: Document,
    rendition: str | None,
    site: SiteFacts,
    model: ModelFile | None,
) -> CheckedDocument:
    """Return what the rules decide today about a filed document, as on the day of its decision.

    `rendition` is the SHA-256 of the rendition from which it was read. Raises FileNotFoundError.
    """
    from ingestion.reading.indirect_files import RenderedPages  # noqa: PLC0415 - large libraries

    path = reader.scratch / f"filed-{document.pk}"
    pages_path = reader.scratch / f"filed-{document.pk}.pdf"
    judge = partial(
        check_or_reject,
        sent=SenderFacts(
            document.schema_version,
            document.document_type,  # the recorded type stands for a declared one
            document.declared_person,
            document.filename,
            language=document.declared_language,
            version=document.declared_version,
        ),
        site=site,
        today=(document.settled_at or document.received_at).date(),
        part=document.file_part,
        model=model,
    )
    try:
        await asyncio.to_thread(archive.copy_to, document.sha256, path)
        opened = None
        if rendition:
            await asyncio.to_thread(archive.copy_to, rendition, pages_path)
            opened = await reader.open_indirect(path, document.sha256, pages_path)
        return await reader.read_then(
            judge,
            path,
            document.sha256,
            pages=document.file_part.numbers if document.file_part else None,
            rendered=opened if isinstance(opened, RenderedPages) else None,
            expected_language=document.declared_language,
        )
    finally:
        path.unlink(missing_ok=True)
        pages_path.unlink(missing_ok=True)


def _find_renditions(documents: Iterable[Document]) -> dict[int, str]:
    """Return the SHA-256 of the rendition from which each document was read, if one was."""
    found = {each.pk: find_read_rendition(each) for each in documents}
    return {key: rendition.sha256 for key, rendition in found.items() if rendition}


def _find_sites(documents: Iterable[Document]) -> dict[int, SiteFacts]:
    """Return the facts of the sites of these documents as they are registered today."""
    sites: dict[int, Site] = {each.site_id: each.site for each in documents}
    return {key: build_site_facts(site) for key, site in sites.items()}


def _find_automatic_states(documents: Iterable[Document]) -> dict[int, DocumentState]:
    """Return the states that the checks gave to documents which QA filed, by primary key."""
    rows = Decision.objects.filter(
        document__in=[each.pk for each in documents], action__in=FILING_ACTIONS
    )
    states: defaultdict[int, DocumentState] = defaultdict(lambda: DocumentState.ARCHIVED)
    for decision in rows.order_by("pk"):
        states[decision.document_id] = DocumentState(decision.from_state)
    return states
