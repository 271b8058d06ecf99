"""Defines the kinds of background jobs that people and programs can request, with their parameters.

`audit.job_runs` runs them. A kind states the permission that a request needs, and checks and
completes the parameters, so that a job with wrong ones is refused before it is registered.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from django.conf import settings
from django.db.models import QuerySet
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from audit import background_jobs, job_runs
from audit.background_jobs import AuditJob
from audit.export import job as export_job
from audit.ledger.actors import Actor
from audit.ledger.log import write_time
from audit.verification import runs
from audit.verification.start import Mode
from ingestion.assessment import job as assessment_job
from ingestion.assessment.corpus import CorpusError
from ingestion.backup import job as backup_job
from ingestion.documents.active_model import ACTIVE_MODEL, BUILT_IN_MODEL, find_model
from ingestion.fhir import export as fhir_export
from ingestion.intake.field_faults import describe_fault
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.learning import rejudgement, training
from ingestion.models import LearnedModel, Packet
from ingestion.storage import archive_verification
from sites.models import Site, User

VIEW_JOBS, CANCEL_JOBS = "audit.view_auditjob", "audit.cancel_job"
Text = Annotated[str, Field(max_length=160, pattern=r"^[^\x00]*$")]
ModelName = Annotated[
    str, Field(pattern=rf"^({ACTIVE_MODEL}|{BUILT_IN_MODEL}|[1-9][0-9]{{0,17}})$")
]


class UnknownKind(Exception):
    """There is no kind of job of this name that can be requested."""


class MayNotRequest(Exception):
    """The person does not have the permission to request jobs of this kind."""


class JobParameters(BaseModel):
    """The parameters of a kind without any, and the base of all others."""

    model_config = ConfigDict(extra="forbid")


class ExportParameters(JobParameters):
    """Selects the entries of an export. Without any value, it has the complete audit trail."""

    site: Text = ""
    study: Annotated[Text, Field(description="The protocol number.")] = ""
    doc_id: Annotated[Text, Field(description="Needs `site`, too.")] = ""
    packet: Annotated[Text, Field(description="Its reference.")] = ""
    since: Annotated[datetime | None, Field(description="Recorded then or later.")] = None
    until: Annotated[datetime | None, Field(description="Recorded before.")] = None


class VerificationParameters(JobParameters):
    """Selects the entries that a verification of the ledger reads."""

    mode: Literal["full", "incremental", "since_anchor", "rolling"] = "full"


class ArchiveParameters(JobParameters):
    """Selects the part of the archive that is read."""

    rolling: Annotated[
        bool, Field(description="Only the part of today: each file is read once a month.")
    ] = False


class AssessmentParameters(JobParameters):
    """Names a corpus in ASSESSMENT_DIR, and how it is assessed."""

    folder: Annotated[Text, Field(min_length=1, description="Its name in ASSESSMENT_DIR.")]
    site: Annotated[Text, Field(description="The site that sent the files.")] = ""
    day: Annotated[date | None, Field(description="The date of the checks.")] = None
    model: ModelName = ACTIVE_MODEL


class RejudgementParameters(JobParameters):
    """Names a model of document types, and how many filed documents are judged again with it."""

    model: ModelName
    limit: Annotated[int, Field(ge=1, le=100_000)] = rejudgement.DEFAULT_DOCUMENTS


@dataclass(frozen=True, slots=True)
class RequestableKind:
    """A kind of jobs that people and programs can request."""

    name: str
    permission: str
    parameters: type[JobParameters]
    #: Returns the arguments of the job. Raises SubmissionRefused.
    make_arguments: Callable[[Any], dict[str, Any]] = lambda _parameters: {}


def _refuse(field: str, sentence: str) -> SubmissionRefused:
    return SubmissionRefused([SubmissionFault(0, f"parameters.{field}", sentence)])


def _make_export_arguments(given: ExportParameters) -> dict[str, Any]:
    sites = [given.site] if given.site else []
    if given.doc_id and not given.site:
        raise _refuse("site", "Name the site. Several sites can have a document of this doc_id.")
    if given.study:
        rows = Site.objects.filter(study__protocol_number=given.study).order_by("site_id")
        rows = rows.filter(site_id=given.site) if given.site else rows
        sites = list(rows.values_list("site_id", flat=True))
        if not sites:  # an empty list would select the complete audit trail
            raise _refuse("study", "There is no such study, or it does not have this site.")
    elif given.site and not Site.objects.filter(site_id=given.site).exists():
        raise _refuse("site", "There is no such site.")
    subjects = []
    if given.packet:
        packet = Packet.objects.select_related("batch").filter(reference=given.packet).first()
        if packet is None:
            raise _refuse("packet", "There is no such packet.")
        subjects = packet.list_subjects()
    return {
        "sites": sites,
        "study": given.study,
        "doc_id": given.doc_id,
        "packet": given.packet,
        "subjects": subjects,
        "since": _write_moment("since", given.since),
        "until": _write_moment("until", given.until),
    }


def _write_moment(field: str, moment: datetime | None) -> str:
    if moment is None:
        return ""
    if moment.tzinfo is None:
        raise _refuse(field, "State the time zone, as in 2026-11-26T00:00:00Z.")
    return write_time(moment.astimezone(UTC))


def _make_archive_arguments(given: ArchiveParameters) -> dict[str, Any]:
    parts = archive_verification.list_parts_of_day() if given.rolling else None
    return {"parts": list(archive_verification.PARTS if parts is None else parts)}


def _make_assessment_arguments(given: AssessmentParameters) -> dict[str, Any]:
    try:
        assessment_job.find_folder(given.folder)
    except CorpusError as error:
        raise _refuse("folder", str(error)) from error
    if given.site and not Site.objects.filter(site_id=given.site).exists():
        raise _refuse("site", "There is no such site.")
    _require_model(given.model)
    return given.model_dump(mode="json")


def _make_rejudgement_arguments(given: RejudgementParameters) -> dict[str, Any]:
    _require_model(given.model)
    return given.model_dump(mode="json")


def _require_model(name: str) -> None:
    try:
        find_model(name)
    except LearnedModel.DoesNotExist as error:
        raise _refuse("model", f"There is no model {name}.") from error


def _make_backup_arguments(_given: JobParameters) -> dict[str, Any]:
    if settings.BACKUP_DIR is None:
        raise SubmissionRefused([SubmissionFault(0, "kind", "BACKUP_DIR is not set.")])
    return {}


KINDS: Mapping[str, RequestableKind] = {
    kind.name: kind
    for kind in (
        RequestableKind(
            export_job.KIND, "audit.export_ledger", ExportParameters, _make_export_arguments
        ),
        RequestableKind(
            runs.KIND,
            "audit.check_ledger",
            VerificationParameters,
            lambda given: {"mode": Mode(given.mode).value},
        ),
        RequestableKind(
            archive_verification.KIND,
            "audit.verify_archive",
            ArchiveParameters,
            _make_archive_arguments,
        ),
        RequestableKind(
            assessment_job.KIND,
            "ingestion.sign_assessment",
            AssessmentParameters,
            _make_assessment_arguments,
        ),
        RequestableKind(training.KIND, "ingestion.activate_learnedmodel", JobParameters),
        RequestableKind(
            rejudgement.KIND,
            "ingestion.activate_learnedmodel",
            RejudgementParameters,
            _make_rejudgement_arguments,
        ),
        RequestableKind(
            backup_job.KIND, "audit.create_backup", JobParameters, _make_backup_arguments
        ),
    )
}


def register() -> None:
    """Register the runners of these kinds. A repeated call changes nothing."""
    job_runs.register_kind(runs.KIND, runs.run_check_job, measure=runs.measure_check)
    job_runs.register_kind(
        export_job.KIND,
        export_job.run_export_job,
        can_work=export_job.can_export_here,
        measure=export_job.measure_export,
        discard=export_job.discard_file,
    )
    job_runs.register_kind(
        archive_verification.KIND,
        archive_verification.run_verification_job,
        measure=archive_verification.measure_verification,
    )
    job_runs.register_kind(training.KIND, training.run_training_job)
    job_runs.register_kind(rejudgement.KIND, rejudgement.run_rejudgement_job)
    job_runs.register_kind(
        assessment_job.KIND,
        assessment_job.run_assessment_job,
        can_work=assessment_job.can_assess_here,
        discard=export_job.discard_file,
    )
    job_runs.register_kind(
        fhir_export.KIND,
        fhir_export.run_fhir_export_job,
        measure=fhir_export.measure_export,
        discard=fhir_export.discard_folder,
        cancel_discards_result=True,  # The client cannot read it any more.
    )
    job_runs.register_kind(
        backup_job.KIND, backup_job.run_backup_job, can_work=backup_job.can_back_up_here
    )


def request_job(  # noqa: PLR0913 - the parts of a request; callers name each
    kind_name: str,
    parameters: Mapping[str, Any],
    *,
    user: User,
    by: Actor,
    owner: str,
    priority: int,
    idempotency_key: str,
) -> AuditJob:
    """Check the parameters and request a job in the name of a person.

    Raises UnknownKind, MayNotRequest, SubmissionRefused with all faults, and what
    `background_jobs.request_job` raises.
    """
    kind = KINDS.get(kind_name)
    if kind is None:
        raise UnknownKind(kind_name)
    if not user.has_perm(kind.permission):
        raise MayNotRequest(kind_name)
    try:
        given = kind.parameters.model_validate(parameters)
    except ValidationError as error:
        faults = [
            SubmissionFault(
                0, ".".join(("parameters", *map(str, fault["loc"]))), describe_fault(fault)
            )
            for fault in error.errors()
        ]
        raise SubmissionRefused(faults) from None
    return background_jobs.request_job(
        kind_name,
        kind.make_arguments(given),
        by,
        owner=owner,
        priority=priority,
        idempotency_key=idempotency_key,
        parameters=parameters,
    )


def list_kind_names() -> list[str]:
    """Return the names of all kinds, with those that only the software requests."""
    return job_runs.list_registered_kinds()


def list_visible_jobs(user: User) -> "QuerySet[AuditJob]":
    """Return the jobs that a person can see: their own, and those of kinds that they may request.

    People who may view all jobs see those of the software, too.
    """
    jobs = background_jobs.list_jobs()
    if user.has_perm(VIEW_JOBS):
        return jobs
    kinds = [kind.name for kind in KINDS.values() if user.has_perm(kind.permission)]
    return jobs.filter(kind__in=kinds) | jobs.filter(owner=user.actor_name)


def can_read_result(job: AuditJob, user: User) -> bool:
    """Return whether a person may read what a job found, and not only that it ran."""
    kind = KINDS.get(job.kind)
    return kind is not None and user.has_perm(kind.permission)


def can_cancel(job: AuditJob, user: User) -> bool:
    """Return whether a person may cancel a job: its owner, or operations."""
    return job.owner == user.actor_name or user.has_perm(CANCEL_JOBS)
