"""One document: `/documents/<id>/`, and its original as a download."""

import mimetypes

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ingestion.archive import archive
from ingestion.core.states import DocumentState
from ingestion.models import Document
from ingestion.web.access import SignedIn
from ingestion.web.drafts import ACCEPTED
from ingestion.web.outcomes import outcome
from ingestion.web.timeline import steps
from sites.models import User

# States whose bytes anybody who sees the document may have. Those of a document in review may
# be withheld from all but QA (decision 16); the review page of a later part gives them there.
_OPEN_TO_SITE = (DocumentState.ARCHIVED, DocumentState.DEDUPED)
_PLAIN_OUTCOMES = {
    DocumentState.RECEIVED: "It waits for its turn.",
    DocumentState.VALIDATING: "It is being checked.",
    DocumentState.ARCHIVED: "All checks passed. It is on file.",
    DocumentState.REJECTED: "It was rejected.",
    DocumentState.RETURNED: "QA returned it to the site.",
}


@never_cache
@login_required
@require_safe
def document_page(request: SignedIn, pk: int) -> HttpResponse:
    document = _visible(request.user, pk)
    context = {
        "document": document,
        "each": outcome(document),
        "plain_outcome": _PLAIN_OUTCOMES.get(DocumentState(document.state), ""),
        "steps": steps(document.subject),
        "versions": Document.objects.filter(site=document.site, doc_id=document.doc_id),
        "has_original": _is_open(document),
    }
    return render(request, "documents/page.html", context)


@never_cache
@login_required
@require_safe
def original(request: SignedIn, pk: int) -> FileResponse:
    """The bytes as they were sent: always an attachment, never shown inside our own pages.

    SecurityMiddleware adds nosniff, so a browser takes the type from us alone.
    """
    document = _visible(request.user, pk)
    if not _is_open(document):
        raise Http404
    try:
        content = archive().open(document.sha256)
    except FileNotFoundError as error:
        raise Http404 from error
    filename = document.filename or f"{document.doc_id}.pdf"
    return FileResponse(
        content, as_attachment=True, filename=filename, content_type=_media_type(filename)
    )


def _visible(user: User, pk: int) -> Document:
    """Another site's document does not exist."""
    rows = Document.objects.visible_to(user).select_related("site", "packet", "duplicate_of")
    return get_object_or_404(rows.prefetch_related("findings"), pk=pk)


def _is_open(document: Document) -> bool:
    return bool(document.sha256) and document.state in _OPEN_TO_SITE


def _media_type(filename: str) -> str:
    """Of the kinds that we take in; everything else is bytes without a meaning."""
    named = filename.lower().endswith(ACCEPTED)
    return (named and mimetypes.guess_type(filename)[0]) or "application/octet-stream"
