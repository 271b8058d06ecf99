"""Serves `/documents`: documents and their outcomes. `api.content` sends their bytes."""

from typing import Annotated, Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path, Query, Router
from pydantic import Field

from api import content
from api.http import problems, request_bodies, visibility
from api.http.auth import ApiRequest, Bearer
from api.http.paging import MAX_ROW_NUMBER, NO_NUL, Cursor, paginate
from api.http.problems import Problem
from api.http.query_times import QueryTime
from api.schemas import (
    DeclarationIn,
    DeclaredOut,
    DocumentLine,
    DocumentList,
    DocumentOut,
    FindingOut,
    RenditionOut,
    make_responses,
)
from ingestion.core.renditions import RenditionKind
from ingestion.core.states import DocumentState
from ingestion.documents import downloads, redactions
from ingestion.documents.downloads import FileAccess
from ingestion.intake import declarations
from ingestion.intake.declarations import Declaration
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.models import Document, DocumentRendition
from ingestion.rules.codes import CODES, FindingCategory, FindingOwner, Severity, select_codes
from ingestion.rules.finding_texts import format_sentences
from sites.models import ApiToken, TokenScope

router = Router()
_CONTENT_KINDS = {
    FileAccess.NOTHING: None,
    FileAccess.INERT: str(RenditionKind.INERT),
    FileAccess.ORIGINAL: "original",
}
DECLARATION_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": request_bodies.add_schema(DeclarationIn)}},
    }
}
Number = Annotated[int, Field(ge=1, le=MAX_ROW_NUMBER)]
RenditionDigest = Annotated[
    str,
    Query(
        pattern="^([0-9a-f]{64})?$",
        description="The SHA-256 digest of a rendition of the document, as its `renditions` list.",
    ),
]
Text = Annotated[str, Field(max_length=160, pattern=NO_NUL)]


class DocumentFilter(Cursor):
    """Describes the query parameters of the list of documents. Empty ones do not filter."""

    site: Text = ""
    study: Text = ""
    doc_id: Text = ""
    document_type: Text = ""
    batch: Text = ""
    sha256: Text = ""
    state: DocumentState | None = None
    code: Annotated[Text, Field(description="Only documents whose primary finding has it.")] = ""
    category: FindingCategory | None = None
    severity: Severity | None = None
    owner: FindingOwner | None = None
    retryable: bool | None = None
    part_of: Annotated[
        Number | None, Field(description="Only the parts of the divided file with this id.")
    ] = None
    since: Annotated[
        QueryTime | None, Field(description="Only documents received or settled since this time.")
    ] = None


@router.get(
    "",
    response=make_responses(DocumentList),
    auth=Bearer(TokenScope.READ),
    summary="List documents, newest first",
)
def list_documents(
    request: ApiRequest, response: HttpResponse, query: Query[DocumentFilter]
) -> DocumentList:
    """Return one page of the documents that the token can see, newest first."""
    values = {
        "site__site_id": query.site,
        "site__study__protocol_number": query.study,
        "doc_id": query.doc_id,
        "document_type": query.document_type,
        "batch__reference": query.batch,
        "sha256": query.sha256,
        "state": query.state,
        "code": query.code,
        "part_of": query.part_of,
    }
    rows = visibility.list_visible_documents(request.auth)
    rows = rows.filter(**{name: value for name, value in values.items() if value})
    codes = select_codes(
        category=query.category,
        severity=query.severity,
        owner=query.owner,
        retryable=query.retryable,
    )
    if len(codes) < len(CODES):
        rows = rows.filter(code__in=codes)
    if query.since:
        rows = rows.filter(Q(received_at__gte=query.since) | Q(settled_at__gte=query.since))
    page = paginate(request, response, rows, query)
    redactions.load_decisions(page.rows)
    items = [DocumentLine(**_describe_document(request, document)) for document in page.rows]
    return DocumentList(items=items, next=page.next)


@router.get(
    "/{document_id}",
    response=make_responses(DocumentOut, errors=(404,)),
    auth=Bearer(TokenScope.READ),
    summary="Get one document with its findings",
)
def one_document(request: ApiRequest, document_id: Path[Number]) -> DocumentOut:
    """Return one document with its current findings.

    Responds with problem 404 if it is not visible.
    """
    document = _find_document(request.auth, document_id)
    duplicate_of = document.duplicate_of
    findings = []
    for finding in document.current_findings:
        text = format_sentences(finding.code, finding.facts, type_name=document.type_name)
        findings.append(
            FindingOut(
                code=finding.code, page=finding.page, what=text.what, why=text.why, do=text.do
            )
        )
    return DocumentOut(
        **_describe_document(request, document),
        schema_version=document.schema_version,
        declared=DeclaredOut(
            person=document.declared_person,
            person_role=document.person_role,
            language=document.declared_language,
            version=document.declared_version,
        ),
        findings=findings,
        renditions=_describe_renditions(request, document),
        content_kind=_name_content_kind(document),
        duplicate_of=_document_url(request, duplicate_of) if duplicate_of else None,
    )


@router.patch(
    "/{document_id}",
    response=make_responses(DocumentOut, errors=(400, 404, 409, 411, 413)),
    auth=Bearer(TokenScope.SUBMIT),
    summary="Correct the type and the person of a document that is not decided yet",
    openapi_extra=DECLARATION_BODY,
)
def correct_declaration(request: ApiRequest, document_id: Path[Number]) -> DocumentOut:
    """Correct the type or the person of a document.

    The checks run again on the same bytes. The ledger records the change with its reason.
    """
    document = _find_document(request.auth, document_id)
    body = request_bodies.validate(DeclarationIn, request_bodies.read_json(request))
    declared = Declaration(body.document_type, body.person)
    if refusal := declarations.explain_declaration_refusal(document):
        raise Problem(409, refusal)
    field, sentence = declarations.find_fault(document, declared)
    if sentence:
        raise SubmissionRefused([SubmissionFault(0, field, sentence)])
    by = request.auth.actor
    try:
        declarations.correct_declaration(document, declared, body.reason, by=by)
    except declarations.RedeclarationRefused as error:
        raise Problem(409, str(error)) from error
    return one_document(request, document_id)


@router.api_operation(
    ["GET", "HEAD"],
    "/{document_id}/content",
    response=make_responses(None, 200, 206, 304, errors=(403, 404, 412, 416, 503)),
    auth=Bearer(TokenScope.DOWNLOAD),
    summary="Download the bytes of a document",
    openapi_extra=content.OPENAPI_EXTRA,
)
def document_content(
    request: ApiRequest, document_id: Path[Number], rendition: RenditionDigest = ""
) -> Any:
    """Return the document's original bytes, whole or the requested range.

    If the original is under lock for its active content, return its inert rendition: pictures of
    the pages. If places in it are redacted, these are black in the pictures. With `rendition`,
    return the bytes of this rendition.
    """
    document = _find_document(request.auth, document_id)
    derived = None
    if rendition:
        derived = downloads.find_named_rendition(document, sha256=rendition)
        if derived is None:
            raise problems.make_not_found_problem("rendition")
    return content.make_content_response(request, document, derived)


def _find_document(token: ApiToken, number: int) -> Document:
    """Return a document that the token can see. Raises Problem 404."""
    rows = visibility.list_visible_documents(token).filter(pk=number).prefetch_related("findings")
    document = rows.first()
    if document is None:
        raise problems.make_not_found_problem("document")
    return document


def _document_url(request: HttpRequest, document: Document, view: str = "one_document") -> str:
    return request.build_absolute_uri(reverse(f"api:{view}", args=[document.pk]))


def _name_content_kind(document: Document) -> str | None:
    """Return what everyone may have of the document: "original", a kind of rendition, or None."""
    access = downloads.find_access(document)
    if access is FileAccess.INERT and downloads.is_redacted(document):
        return str(RenditionKind.REDACTED)
    return _CONTENT_KINDS[access]


def _describe_renditions(request: HttpRequest, document: Document) -> list[RenditionOut]:
    base = _document_url(request, document, "document_content")
    access = downloads.find_access(document)
    pictures = downloads.find_pictures(document) if access is FileAccess.INERT else None

    def is_offered(rendition: DocumentRendition) -> bool:
        return access is FileAccess.ORIGINAL or rendition == pictures

    return [
        RenditionOut(
            kind=each.kind,
            sha256=each.sha256,
            size=each.size,
            media_type=each.media_type,
            tool=each.tool,
            made_at=each.made_at,
            content_url=f"{base}?rendition={each.sha256}" if is_offered(each) else None,
        )
        for each in document.renditions.all()
    ]


def _describe_document(request: HttpRequest, document: Document) -> dict[str, Any]:
    is_open, part = downloads.is_file_open(document), document.file_part
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
        "part_of": document.part_of_id,
        "page_range": [part.first, part.last] if part else None,
        "region": list(part.region) if part and part.region else None,
        "entry": document.entry or None,
        "entry_name": document.entry_name,
        "batch": document.batch.reference,
        "packet": document.packet.reference,
        "attempt": document.attempt_number,
        "next_attempt_at": document.waits_until,
        "received_at": document.received_at,
        "settled_at": document.settled_at,
        "url": _document_url(request, document),
        "content_url": _document_url(request, document, "document_content") if is_open else None,
    }
