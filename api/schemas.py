"""What goes in and out, as OpenAPI describes it. Fields are named as in a manifest."""

from datetime import date, datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import ConfigDict, Field

from api.paging import ROW_NUMBERS
from audit.change_tracking.change_reasons import MIN_REASON_CHARACTERS
from ingestion.core.states import BatchState, DocumentState
from ingestion.intake.manifest import PRINTABLE_PATTERN, ManifestLine
from ingestion.rules.site_file.requirements import RequirementStatus


class ErrorOut(Schema):
    """One thing to mend. `line` counts from 1; 0 is the submission as a whole."""

    line: int | None = None
    field: str
    message: str


class ProblemOut(Schema):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[ErrorOut] | None = None


Priority = Annotated[int, Field(ge=1, le=10, description="1 is the most urgent.")]
SiteNumber = Annotated[str, Field(max_length=60, description="Not needed with a site's token.")]
NO_NUL = r"^[^\x00]*$"  # PostgreSQL keeps none
TypeSlug = Annotated[str, Field(max_length=40)]
PersonName = Annotated[str, Field(max_length=120, pattern=PRINTABLE_PATTERN)]


class PacketIn(Schema):
    """Documents that a portal has: the lines of a manifest."""

    model_config = ConfigDict(extra="forbid")

    priority: Priority = 5
    documents: Annotated[list[ManifestLine], Field(min_length=1)]


class FileLine(Schema):
    """One file of this request."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    file: Annotated[str, Field(min_length=1, max_length=255, description="Its name, as sent.")]
    document_type: TypeSlug = ""
    person: PersonName = ""
    corrects: Annotated[
        int | None,
        Field(
            ge=1,
            le=ROW_NUMBERS,
            description="The `id` of the document in whose place it comes: rejected, returned or "
            "in review, and of the same site.",
        ),
    ] = None


class DeclarationIn(Schema):
    """What a document is and whose it is, where it was sent as something else."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    document_type: TypeSlug
    person: PersonName = ""
    reason: Annotated[
        str,
        Field(
            min_length=MIN_REASON_CHARACTERS,
            max_length=500,
            pattern=NO_NUL,
            description="For the record.",
        ),
    ]


class FilesIn(Schema):
    """The part `packet` of a multipart request; its parts `files` are what it names."""

    model_config = ConfigDict(extra="forbid")

    site_id: SiteNumber = ""
    priority: Priority = 2
    documents: Annotated[list[FileLine], Field(min_length=1)]


class FileToCome(Schema):
    """A file that will be put on its own."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    filename: Annotated[str, Field(min_length=1, max_length=255, pattern=PRINTABLE_PATTERN)]
    document_type: TypeSlug = ""
    person: PersonName = ""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=1, le=2**53, description="Bytes.")]


class OpenIn(Schema):
    """A packet whose files come one by one."""

    model_config = ConfigDict(extra="forbid")

    site_id: SiteNumber = ""
    priority: Priority = 2
    files: Annotated[list[FileToCome], Field(min_length=1)]


class FileOut(Schema):
    number: int
    filename: str
    sha256: str
    received: bool
    received_bytes: int  # from the beginning of the file on
    url: str


class OpenPacketOut(Schema):
    """An open packet: upload what is not received, then submit it."""

    id: str
    site_id: str
    priority: int
    files: list[FileOut]
    url: str
    uploads_url: str  # where resumable uploads (tus 1.0) of its files begin
    submit_url: str


class ProgressOut(Schema):
    step: str
    total: int
    settled: int
    percentage: int
    estimated_seconds_remaining: int | None


class BatchLine(Schema):
    """A batch in a list."""

    id: str
    status: BatchState
    source: str
    priority: int
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    total: int
    settled: int
    url: str


class BatchOut(Schema):
    id: str
    status: BatchState
    source: str
    priority: int
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: ProgressOut
    states: dict[str, int]
    codes: dict[str, int]
    error_code: Annotated[str, Field(description="Why it ended with work undone.")]
    cancel_requested_at: datetime | None
    packets: list[str]
    url: str
    manifest_url: str


class BatchList(Schema):
    items: list[BatchLine]
    next: str | None


class ResultOut(Schema):
    """What became of one document."""

    site: str
    doc_id: str
    sha256: str
    state: DocumentState
    code: str
    what: str
    why: str
    do: str
    url: Annotated[str, Field(description='At its portal; "" for a file that was sent.')]


class ManifestOut(Schema):
    batch: str
    status: BatchState
    documents: list[ResultOut]


class SiteOut(Schema):
    site_id: str
    name: str
    country: str
    study: str
    portal_answers: Annotated[
        bool, Field(description="False: its portal is down, and is only probed now and then.")
    ]
    next_probe_at: datetime | None
    url: str


class SiteList(Schema):
    items: list[SiteOut]
    next: str | None


class RequirementOut(Schema):
    document_type: str
    name: str
    whose: Annotated[str, Field(description='A person or a laboratory; "" for the site.')]
    standing: RequirementStatus
    counts_until: Annotated[date | None, Field(description="The last day of what is on file.")]
    reason: Annotated[str, Field(description="Of a waiver.")]
    document: Annotated[int | None, Field(description="The one that decided its standing.")]


class GapOut(Schema):
    """Where documents do not fit together, or one names what is not there."""

    code: str
    what: str
    why: str
    do: str
    documents: list[int]


class ReadinessOut(Schema):
    site_id: str
    complete: bool
    met: int
    required: list[RequirementOut]
    gaps: list[GapOut]


class FindingOut(Schema):
    code: str
    page: Annotated[int, Field(description="0: the document as a whole.")]
    what: str
    why: str
    do: str


class DocumentLine(Schema):
    id: int
    site_id: str
    doc_id: str
    document_type: str
    filename: str
    state: DocumentState
    code: str
    sha256: str
    size: int | None
    pages: int | None
    batch: str
    packet: str
    received_at: datetime
    settled_at: datetime | None
    url: str
    content_url: Annotated[str | None, Field(description="Null while the bytes are withheld.")]


class DocumentOut(DocumentLine):
    findings: list[FindingOut]
    duplicate_of: str | None


class DocumentList(Schema):
    items: list[DocumentLine]
    next: str | None


def answers(schema: Any, *success: int, errors: tuple[int, ...] = ()) -> dict[Any, Any]:
    """The `response=` of an operation: its schema, and a problem for all that can go wrong."""
    always = (401, 403, 422, 429, 500)
    return {
        **dict.fromkeys(success or (200,), schema),
        **dict.fromkeys(sorted({*always, *errors}), ProblemOut),
    }
