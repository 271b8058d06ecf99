"""Defines the schemas of requests and responses in the OpenAPI document.

The names of these classes are public: clients are generated from them. Fields have the same names
as in a manifest.
"""

from collections.abc import Mapping
from datetime import date, datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field, computed_field

from api.http.paging import MAX_ROW_NUMBER, NO_NUL
from audit.background_jobs import AuditJob
from audit.change_tracking.change_reasons import MIN_REASON_CHARACTERS
from ingestion import job_kinds
from ingestion.core.states import BatchState, DocumentState
from ingestion.documents.portal_sources import SiteSourceKind
from ingestion.intake.submission_schemas import (
    NOTHING_DECLARED,
    PRINTABLE_PATTERN,
    DeclaredDetails,
    DocumentVersion,
    Language,
    ManifestLineV20,
    ManifestLineV21,
    PersonName,
    PersonOrName,
)
from ingestion.models import MAX_DECISION_REASON_CHARACTERS
from ingestion.rules.codes import CODES, FindingCategory, FindingOwner, Severity
from ingestion.rules.site_file.requirements import RequirementStatus


class ErrorOut(Schema):
    """One fault to correct. `line` counts from 1, and is 0 for the submission as a whole."""

    line: int | None = None
    field: str
    message: str


class ProblemOut(Schema):
    """An error response (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[ErrorOut] | None = None


Priority = Annotated[int, Field(ge=1, le=10, description="1 is the most urgent.")]
SiteNumber = Annotated[
    str, Field(max_length=60, description="Can be left out with a site's token.")
]
RecordedReason = Annotated[
    str,
    Field(
        min_length=MIN_REASON_CHARACTERS,
        max_length=MAX_DECISION_REASON_CHARACTERS,
        pattern=NO_NUL,
        description=f"Recorded in the ledger. At least {MIN_REASON_CHARACTERS} characters.",
    ),
]
TypeSlug = Annotated[str, Field(max_length=40)]
ManifestDocument = Annotated[
    ManifestLineV20 | ManifestLineV21, Field(discriminator="schema_version")
]


class PacketIn(Schema):
    """Documents to download from portals: the lines of a manifest."""

    model_config = ConfigDict(extra="forbid")

    priority: Priority = 5
    documents: Annotated[list[ManifestDocument], Field(min_length=1)]


CorrectedDocument = Annotated[
    int | None,
    Field(
        ge=1,
        le=MAX_ROW_NUMBER,
        description="The `id` of the document that this file replaces. That document belongs "
        "to the same site and is rejected, returned or in review.",
    ),
]


class DeclaredV20(Schema):
    """Describes a file in schema version 2.0."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    document_type: TypeSlug = ""
    person: PersonName = ""

    @property
    def person_name(self) -> str:
        """Return the name of the person whose document it is, or ""."""
        return self.person

    @property
    def details(self) -> DeclaredDetails:
        """Return what is declared beside the type and the person."""
        return NOTHING_DECLARED


class DeclaredV21(DeclaredV20):
    """Describes a file in schema version 2.1."""

    person: PersonOrName = None  # type: ignore[assignment] # each version has its own
    language: Language = ""
    version: DocumentVersion = ""

    @property
    def person_name(self) -> str:
        """Return the name of the person whose document it is, or ""."""
        return self.person.name if self.person else ""

    @property
    def details(self) -> DeclaredDetails:
        """Return what is declared beside the type and the person."""
        role = self.person.role if self.person else ""
        return DeclaredDetails(role, self.language, self.version)


class FileLineV20(DeclaredV20):
    """One file of this request, in schema version 2.0."""

    file: Annotated[str, Field(min_length=1, max_length=255, description="Its filename.")]
    corrects: CorrectedDocument = None


class FileLine(DeclaredV21, FileLineV20):
    """One file of this request."""


class DeclarationIn(Schema):
    """The correct type and person of a document that was submitted with others."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    document_type: TypeSlug
    person: PersonName = ""
    reason: RecordedReason


class FilesInV20(Schema):
    """The part `packet` of a multipart request, in schema version 2.0."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal["v2.0"]
    site_id: SiteNumber = ""
    priority: Priority = 2
    documents: Annotated[list[FileLineV20], Field(min_length=1)]


class FilesIn(Schema):
    """The part `packet` of a multipart request. It describes the parts `files`."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal["v2.1"] = "v2.1"
    site_id: SiteNumber = ""
    priority: Priority = 2
    documents: Annotated[list[FileLine], Field(min_length=1)]


class FileToComeV20(DeclaredV20):
    """A file that is uploaded later, in schema version 2.0."""

    filename: Annotated[str, Field(min_length=1, max_length=255, pattern=PRINTABLE_PATTERN)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=1, le=2**53, description="Bytes.")]


class FileToCome(DeclaredV21, FileToComeV20):
    """A file that is uploaded later."""


class OpenInV20(Schema):
    """A packet whose files are uploaded one by one, in schema version 2.0."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal["v2.0"]
    site_id: SiteNumber = ""
    priority: Priority = 2
    files: Annotated[list[FileToComeV20], Field(min_length=1)]


class OpenIn(Schema):
    """A packet whose files are uploaded one by one."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal["v2.1"] = "v2.1"
    site_id: SiteNumber = ""
    priority: Priority = 2
    files: Annotated[list[FileToCome], Field(min_length=1)]


FILES_SCHEMAS: Mapping[str, type[FilesInV20] | type[FilesIn]] = MappingProxyType(
    {"v2.0": FilesInV20, "v2.1": FilesIn}
)
OPEN_SCHEMAS: Mapping[str, type[OpenInV20] | type[OpenIn]] = MappingProxyType(
    {"v2.0": OpenInV20, "v2.1": OpenIn}
)


class FileOut(Schema):
    """Describes one declared file of an open packet, and how much of it has been received."""

    number: int
    filename: str
    sha256: str
    received: bool
    received_bytes: int  # from the beginning of the file
    url: str


class OpenPacketOut(Schema):
    """An open packet. Upload the files that are not received, then submit it."""

    id: str
    site_id: str
    priority: int
    files: list[FileOut]
    url: str
    uploads_url: str  # creates resumable uploads (tus 1.0) of its files
    submit_url: str


class EstimateOut(Schema):
    """The seconds until the end. Of ten estimates, about eight are between `low` and `high`."""

    low: int
    likely: int
    high: int


class ProgressOut(Schema):
    """Describes the progress of a batch.

    Remaining time is in seconds, and null if it cannot be estimated.
    """

    step: str
    total: Annotated[
        int, Field(description="Documents. A divided file counts as the documents in it.")
    ]
    files: Annotated[int, Field(description="Files as they were received.")]
    settled: int
    percentage: int
    estimated_seconds_remaining: Annotated[
        int | None, Field(description="The same as `likely` of `estimate`; 0 for a final batch.")
    ]
    estimate: Annotated[
        EstimateOut | None,
        Field(
            description="Null if the batch is final, the pace is not known yet, or documents wait "
            "for a portal that does not respond."
        ),
    ]


class StuckSiteOut(Schema):
    """Describes a site of a batch of which no document was settled for too long."""

    site_id: str
    documents: Annotated[int, Field(description="Unfinished documents.")]
    doc_ids: Annotated[list[str], Field(description="The first unfinished documents.")]
    since: Annotated[datetime, Field(description="The time of the last progress of the site.")]
    cause: Annotated[
        str, Field(description="portal_down, retrying, working or no_worker (docs/api.md).")
    ]


class BatchLine(Schema):
    """A batch in a list."""

    id: str
    status: BatchState
    source: str
    submitter: str
    priority: int
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    total: int
    settled: int
    url: str


class BatchOut(Schema):
    """Describes a batch with its progress, and the number of its documents by state and by code."""

    id: str
    status: BatchState
    source: str
    submitter: str
    priority: int
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: ProgressOut
    states: dict[str, int]
    codes: dict[str, int]
    stuck_sites: Annotated[
        list[StuckSiteOut],
        Field(description="Sites that make no progress, while other sites may continue."),
    ]
    error_code: Annotated[str, Field(description="The reason why a batch ended early.")]
    cancel_requested_at: datetime | None
    packets: list[str]
    url: str
    manifest_url: str


class BatchRetryIn(Schema):
    """Why a batch is retried."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    reason: RecordedReason


class JobIn(Schema):
    """A request for a background job. Each kind has its own parameters (docs/api.md)."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[
        str,
        Field(max_length=40, pattern=NO_NUL, json_schema_extra={"enum": sorted(job_kinds.KINDS)}),
    ]
    parameters: dict[str, Any] = {}
    priority: Priority = 5


class JobProgressOut(Schema):
    """Describes the progress of a job. The unit of `done` and `total` depends on the kind."""

    done: int
    total: Annotated[int, Field(description="0 until it is known.")]
    percentage: int
    estimate: Annotated[
        EstimateOut | None,
        Field(description="Null if the job has ended, or nothing is known about its duration."),
    ]


class JobLine(Schema):
    """A background job in a list."""

    id: int
    kind: str
    status: AuditJob.State
    submitter: str
    priority: int
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    url: str


class JobOut(JobLine):
    """Describes a background job, with its progress, then its result."""

    parameters: Annotated[
        dict[str, Any] | None,
        Field(
            description="As they were sent. Null for jobs that the software requested, and without "
            "the permission to request this kind."
        ),
    ]
    attempts: Annotated[int, Field(description="How often a worker has started it.")]
    progress: JobProgressOut
    cancel_requested_at: datetime | None
    error: Annotated[str, Field(description="Why it failed.")]
    result: Annotated[
        dict[str, Any] | None,
        Field(description="Null until it is done, and without the permission of its kind."),
    ]
    file_url: Annotated[str | None, Field(description="The file that the job wrote, if any.")]


class JobList(Schema):
    """Describes one page of jobs. `next` is the absolute URL of the next page."""

    items: list[JobLine]
    next: str | None


class BatchList(Schema):
    """Describes one page of batches. `next` is the absolute URL of the next page."""

    items: list[BatchLine]
    next: str | None


class CodeOut(Schema):
    """A finding code with its attributes, which are null without a registered code."""

    code: str

    @computed_field(description="The kind of problem (docs/finding-codes.md).")
    def category(self) -> FindingCategory | None:
        """Return the category of the code."""
        return CODES[self.code].category if self.code in CODES else None

    @computed_field
    def severity(self) -> Severity | None:
        """Return the severity of the code."""
        return CODES[self.code].severity if self.code in CODES else None

    @computed_field(description="Who has to act before the finding is resolved.")
    def owner(self) -> FindingOwner | None:
        """Return the owner of the code."""
        return CODES[self.code].owner if self.code in CODES else None

    @computed_field(description="Whether the same file may pass another attempt.")
    def retryable(self) -> bool | None:
        """Return whether the code is retryable."""
        return CODES[self.code].is_retryable if self.code in CODES else None


class ResultOut(CodeOut):
    """The result of one document."""

    site: str
    doc_id: str
    sha256: str
    state: DocumentState
    what: str
    why: str
    do: str
    url: Annotated[str, Field(description='The address at its portal, or "" for an uploaded file.')]
    part_of: Annotated[
        str, Field(description='The doc_id of the divided file of which this is a part, or "".')
    ]
    page_range: Annotated[
        list[int] | None,
        Field(description="The first and the last page of the file that a part has, from 1."),
    ]


class ManifestOut(Schema):
    """Describes the result of each document of a final batch."""

    batch: str
    status: BatchState
    documents: list[ResultOut]


class SiteOut(Schema):
    """Describes a site, and whether its portal responds."""

    site_id: str
    name: str
    country: str
    study: str
    portal_answers: Annotated[
        bool, Field(description="False while the portal does not respond and is only probed.")
    ]
    source: Annotated[
        SiteSourceKind,
        Field(
            description="The source of documents at the moment: the portal, a mirror of it, or "
            "upload, while neither responds."
        ),
    ]
    next_probe_at: Annotated[
        datetime | None,
        Field(
            description="When a portal that does not respond is asked again. Null if it responds, "
            "or if it is asked with the next document."
        ),
    ]
    url: str


class SiteList(Schema):
    """Describes one page of sites. `next` is the absolute URL of the next page."""

    items: list[SiteOut]
    next: str | None


class RequirementOut(Schema):
    """Describes a document that a site must have, and whether it has a valid one."""

    document_type: str
    name: str
    whose: Annotated[str, Field(description='A person or a laboratory, or "" for the site.')]
    standing: RequirementStatus
    counts_until: Annotated[date | None, Field(description="The last valid day.")]
    reason: Annotated[str, Field(description="The reason of a waiver.")]
    document: Annotated[int | None, Field(description="The document that determines `standing`.")]


class GapOut(CodeOut):
    """A conflict between two documents, or a document that another names and that is missing."""

    what: str
    why: str
    do: str
    documents: list[int]


class ReadinessOut(Schema):
    """Describes the required documents of a site, and those that are missing."""

    site_id: str
    complete: bool
    met: int
    required: list[RequirementOut]
    gaps: list[GapOut]


class FindingOut(CodeOut):
    """Describes a finding in three sentences: what was found, why it matters, and what to do."""

    page: Annotated[int, Field(description="0 for the document as a whole.")]
    what: str
    why: str
    do: str


class DocumentLine(CodeOut):
    """Describes a document with its state, as lists contain it. `size` is in bytes."""

    id: int
    site_id: str
    doc_id: str
    document_type: str
    filename: str
    state: DocumentState
    sha256: str
    size: int | None
    pages: int | None
    part_of: Annotated[
        int | None, Field(description="The id of the divided file of which this is a part.")
    ]
    page_range: Annotated[
        list[int] | None,
        Field(description="The first and the last page of the file that a part has, from 1."),
    ]
    region: Annotated[
        list[float] | None,
        Field(description="Left, top, right and bottom of a part of one page, from 0 to 1."),
    ]
    entry: Annotated[
        int | None, Field(description="The number of this file in its container, from 1.")
    ]
    entry_name: Annotated[str, Field(description='The path of this file in its container, or "".')]
    batch: str
    packet: str
    attempt: Annotated[
        int | None,
        Field(description="The number of the attempt that runs or comes next. Null if settled."),
    ]
    next_attempt_at: Annotated[
        datetime | None, Field(description="Not before this time. Null: as soon as possible.")
    ]
    received_at: datetime
    settled_at: datetime | None
    url: str
    content_url: Annotated[str | None, Field(description="Null if the bytes cannot be downloaded.")]


class RenditionOut(Schema):
    """Describes a file that was derived from the original. The original is the record."""

    kind: Annotated[
        str,
        Field(
            description="`office_pdf`: the pages of a word processor's document; `message_pdf`: "
            "the text of an email message; `inert`: pictures of the pages of a file whose original "
            "is under lock; `redacted`: the same, with black places."
        ),
    ]
    sha256: str
    size: int
    media_type: str
    tool: Annotated[str, Field(description="The name and version of what made it.")]
    made_at: datetime
    content_url: Annotated[str | None, Field(description="Null if the bytes cannot be downloaded.")]


class DeclaredOut(Schema):
    """Describes the declaration of a document, without its type. "" was not declared."""

    person: str
    person_role: str
    language: Annotated[
        str,
        Field(
            description="Its code of ISO 639-2, whichever code was sent; for Chinese, chi_sim or "
            "chi_tra."
        ),
    ]
    version: str


class DocumentOut(DocumentLine):
    """Describes a document with its current findings.

    `duplicate_of` is the URL of the identical document.
    """

    schema_version: str
    declared: DeclaredOut
    findings: list[FindingOut]
    renditions: list[RenditionOut]
    content_kind: Annotated[
        str | None,
        Field(
            description="What `content_url` returns: `original`, or `inert` or `redacted` for "
            "the rendition of an original that is under lock. Null if nothing."
        ),
    ]
    duplicate_of: str | None


class DocumentList(Schema):
    """Describes one page of documents. `next` is the absolute URL of the next page."""

    items: list[DocumentLine]
    next: str | None


class SearchResultOut(Schema):
    """Describes a page of a document that matches a search. Lengths are in points."""

    document: int
    site_id: str
    doc_id: str
    document_type: str
    filename: str
    state: DocumentState
    page: Annotated[int, Field(description="The number of the page in its file, from 1.")]
    match: Annotated[str, Field(description="`exact`, `prefix` or `similar`.")]
    snippet: Annotated[str, Field(description="The words around the first match.")]
    words: Annotated[list[str], Field(description="The words in the snippet that match.")]
    places: Annotated[
        list[list[float]],
        Field(
            description="Left, top, right and bottom of each word of the page that matches, from "
            "the top left corner of the page. Words whose place is unknown are left out."
        ),
    ]
    url: Annotated[str, Field(description="The document.")]


class SearchList(Schema):
    """Describes one page of results. `next` is the absolute URL of the next page."""

    items: list[SearchResultOut]
    next: str | None


def make_responses(schema: Any, *success: int, errors: tuple[int, ...] = ()) -> dict[Any, Any]:
    """Return the `response=` of an operation: the schema for success, a problem for each error.

    `success` are status codes, by default 200. `errors` are those beyond the errors that every
    operation can return.
    """
    always = (401, 403, 422, 429, 500)
    return {
        **dict.fromkeys(success or (200,), schema),
        **dict.fromkeys(sorted({*always, *errors}), ProblemOut),
    }
