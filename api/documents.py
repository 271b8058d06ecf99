"""Documents and what came of them: `/documents`. Their bytes are `content`'s business."""

from typing import Annotated, Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path, Query, Router
from pydantic import Field

from api import (
    content,
    problems,
    request_bodies,
    visibility,
)
from api.auth import ApiRequest, Bearer
from api.paging import ROW_NUMBERS, Cursor, page
from api.problems import Problem
from api.query_times import Moment
from api.schemas import (
    DeclarationIn,
    DocumentLine,
    DocumentList,
    DocumentOut,
    FindingOut,
    answers,
)
from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.documents.transitions import Actor
from ingestion.intake import declarations
from ingestion.intake.declarations import Declaration
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.models import Document
from ingestion.rules.finding_texts import sentences
from sites.models import ApiToken, TokenScope

router = Router()
DESCRIBED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": request_bodies.described(DeclarationIn)}},
    }
}
Number = Annotated[int, Field(ge=1, le=ROW_NUMBERS)]
Text = Annotated[str, Field(max_length=120, pattern=r"^[^\x00]*$")]


class DocumentFilter(Cursor):
    site: Text = ""
    study: Text = ""
    doc_id: Text = ""
    document_type: Text = ""
    batch: Text = ""
    sha256: Text = ""
    state: DocumentState | None = None
    since: Annotated[Moment | None, Field(description="Received or settled since then.")] = None


@router.get(
    "",
    response=answers(DocumentList),
    auth=Bearer(TokenScope.READ),
    summary="Documents, newest first",
)
def list_documents(
    request: ApiRequest, response: HttpResponse, asked: Query[DocumentFilter]
) -> DocumentList:
    shown = page(request, response, _asked_for(visibility.documents(request.auth), asked), asked)
    return DocumentList(
        items=[DocumentLine(**_line(request, each)) for each in shown.rows], next=shown.next
    )


@router.get(
    "/{document_id}",
    response=answers(DocumentOut, errors=(404,)),
    auth=Bearer(TokenScope.READ),
    summary="One document, with its findings in words",
)
def one_document(request: ApiRequest, document_id: Path[Number]) -> DocumentOut:
    document = _of(request.auth, document_id)
    twin = document.duplicate_of
    return DocumentOut(
        **_line(request, document),
        findings=[_finding(document, finding) for finding in document.current_findings],
        duplicate_of=_address(request, twin) if twin else None,
    )


@router.patch(
    "/{document_id}",
    response=answers(DocumentOut, errors=(400, 404, 409, 411, 413)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Correct what a document was sent as, while it is not decided",
    openapi_extra=DESCRIBED,
)
def correct_declaration(request: ApiRequest, document_id: Path[Number]) -> DocumentOut:
    """Its checks run again on the same bytes. The change is on record, with its reason."""
    document = _of(request.auth, document_id)
    asked = request_bodies.shaped(DeclarationIn, request_bodies.sent_json(request))
    declared = Declaration(asked.document_type, asked.person)
    if why := declarations.explain_refusal(document):
        raise Problem(409, why)
    field, sentence = declarations.find_fault(document, declared)
    if sentence:
        raise SubmissionRefused([SubmissionFault(0, field, sentence)])
    by = Actor(request.auth.actor, request.auth.role)
    try:
        declarations.correct_declaration(document, declared, asked.reason, by=by)
    except declarations.RedeclarationRefused as refused:
        raise Problem(409, str(refused)) from refused
    return one_document(request, document_id)


@router.api_operation(
    ["GET", "HEAD"],
    "/{document_id}/content",
    response=answers(None, 200, 206, 304, errors=(403, 404, 412, 416)),
    auth=Bearer(TokenScope.DOWNLOAD),
    summary="The bytes as they were sent",
    openapi_extra=content.DESCRIBED,
)
def document_content(request: ApiRequest, document_id: Path[Number]) -> Any:
    return content.given(request, _of(request.auth, document_id))


def _of(token: ApiToken, number: int) -> Document:
    found = visibility.documents(token).filter(pk=number).prefetch_related("findings").first()
    if found is None:
        raise problems.not_found("document")
    return found


def _asked_for(rows: "QuerySet[Document]", asked: DocumentFilter) -> "QuerySet[Document]":
    same = {
        "site__site_id": asked.site,
        "site__study__protocol_number": asked.study,
        "doc_id": asked.doc_id,
        "document_type": asked.document_type,
        "batch__reference": asked.batch,
        "sha256": asked.sha256,
        "state": asked.state,
    }
    rows = rows.filter(**{name: value for name, value in same.items() if value})
    if asked.since:
        rows = rows.filter(Q(received_at__gte=asked.since) | Q(settled_at__gte=asked.since))
    return rows


def _address(request: HttpRequest, document: Document, view: str = "one_document") -> str:
    return request.build_absolute_uri(reverse(f"api:{view}", args=[document.pk]))


def _line(request: HttpRequest, document: Document) -> dict[str, Any]:
    is_open = downloads.is_file_open(document)
    return {
        "id": document.pk,
        "site_id": document.site.site_id,
        "doc_id": document.doc_id,
        "document_type": document.document_type,
        "filename": document.filename,
        "state": document.state,
        "code": document.code,
        "sha256": document.sha256,
        "size": document.size,
        "pages": document.pages,
        "batch": document.batch.reference,
        "packet": document.packet.reference,
        "received_at": document.received_at,
        "settled_at": document.settled_at,
        "url": _address(request, document),
        "content_url": _address(request, document, "document_content") if is_open else None,
    }


def _finding(document: Document, finding: Any) -> FindingOut:
    said = sentences(finding.code, finding.facts, type_name=document.type_name)
    return FindingOut(
        code=finding.code, page=finding.page, what=said.what, why=said.why, do=said.do
    )
