"""Shows the page of one document, `/documents/<id>/`, and sends its original."""

from django.http import FileResponse, Http404, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import UNSETTLED_STATES, DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.documents import downloads
from ingestion.models import Document, DocumentRendition
from ingestion.review import decisions
from ingestion.review.decision_rules import ACTIONS_ON_FILED
from sites import retention
from web.documents.decision_display import (
    list_choices,
    list_decisions_leading_to,
    list_signed_decisions,
)
from web.documents.declared_facts import describe_declared_facts
from web.documents.extracted_fields import list_extracted_values
from web.documents.inert_display import describe_lock
from web.documents.lookup import get_visible_document
from web.documents.outcomes import describe_outcome
from web.documents.page_account import PageAccount, account_for_pages, name_pages
from web.documents.page_images import add_page_image
from web.documents.redaction_display import describe_redaction
from web.documents.rendition_display import list_renditions
from web.documents.timeline import build_timeline
from web.shell.access import FORM, READ, SignedIn, restrict_page
from web.shell.forms import PlainForm, make_action_reason_field
from web.shell.request_limits import parse_whole_number

# The outcome of a document without findings and without a note.
_PLAIN_OUTCOMES = {
    DocumentState.RECEIVED: _("The document is waiting to be checked."),
    DocumentState.VALIDATING: _("The document is being checked."),
    DocumentState.ARCHIVED: _("All checks passed. The document is on file."),
    DocumentState.REJECTED: _("The document was rejected."),
    DocumentState.RETURNED: _("QA returned the document to the site."),
}


@restrict_page(READ)
def document_page(request: SignedIn, pk: int) -> HttpResponse:
    """Show one document: its outcome, its timeline, and the decisions about it.

    Raises Http404 if the person cannot see the document.
    """
    document = get_visible_document(request.user, pk)
    choices = list_choices(request.user, document, ACTIONS_ON_FILED)
    outcome = describe_outcome(document, for_staff=request.user.is_staff)
    state = DocumentState(document.state)
    plain_outcome = str(_PLAIN_OUTCOMES.get(state, ""))
    if state in UNSETTLED_STATES and not host_heartbeat.is_any_running():
        plain_outcome = gettext(
            "No worker is running. Your file is saved, and the checks continue as soon as a "
            "worker is running. If this message does not disappear, tell your administrator."
        )
    account, lock = account_for_pages(document), describe_lock(request.user, document)
    redaction = describe_redaction(request.user, document)
    describe_retention = (
        retention.describe_retention if request.user.is_staff else retention.describe_term
    )
    context = {
        "document": document,
        "outcome": add_page_image(outcome, request.user, document.extractions.last()),
        "review_requests": document.review_requests.select_related("asked_by"),
        "declared": describe_declared_facts(document),
        "plain_outcome": plain_outcome,
        "account": account,
        "heading": _name_heading(document, account),
        "part_pages": name_pages(document.file_part) if document.file_part else "",
        "extracted": list_extracted_values(document, request.user),
        "steps": build_timeline(document.subject),
        "versions": Document.objects.filter(site=document.site, doc_id=document.doc_id),
        "has_file": downloads.can_view_file(request.user, document),
        "lock": lock,
        "redaction": redaction,
        "retention": describe_retention(document.site.study),
        "signed_decisions": list_signed_decisions(document),
        "decisions_leading_here": list_decisions_leading_to(document),
        "choices": choices,
        "version": decisions.get_version(document) if choices else "",
        "renditions": list_renditions(document),
        "can_certify": downloads.is_file_open(document)
        and not document.has_pages_of_a_file
        and (lock is None or lock.has_original)
        and (redaction is None or redaction.has_original),
    }
    return render(request, "documents/page.html", context)


def _name_heading(document: Document, account: PageAccount | None) -> str:
    """Return what the document is, for its heading: of a divided file, how many documents."""
    if account is None:
        return document.type_name
    number = sum(line.document is not None for line in account.lines)
    if account.has_entries:
        sentence = ngettext("Packet with {n} document", "Packet with {n} documents", number)
        return sentence.format(n=number)
    sentence = ngettext("File with {n} document", "File with {n} documents", number)
    return sentence.format(n=number)


class DownloadForm(PlainForm):
    """Asks staff for the reason of a download, which is recorded."""

    reason = make_action_reason_field(
        _("Reason for the download"), _("Recorded in the audit trail with the download.")
    )


@restrict_page(FORM)
def original(request: SignedIn, pk: int) -> HttpResponseBase:
    """Return the file as it was received, as an attachment that browsers do not display.

    A person who may not have the original gets its inert rendition. With `?rendition=ID`, return
    this rendition of the document.

    Operations and administrators enter a reason first, in a form that this address shows.
    SecurityMiddleware adds `nosniff`, so that browsers use only the declared media type.
    """
    document = get_visible_document(request.user, pk)
    rendition = _find_rendition(document, request.GET.get("rendition", ""))
    if not downloads.must_give_reason(request.user):
        if request.method == "POST":
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return _send_file(request, document, rendition=rendition)
    if not downloads.can_view_file(request.user, document):
        raise Http404
    form = DownloadForm(request.POST or None)
    if form.is_valid():
        return _send_file(request, document, form.cleaned_data["reason"], rendition)
    context = {"document": document, "form": form}
    status = 400 if form.errors else 200
    return render(request, "documents/download.html", context, status=status)


def _find_rendition(document: Document, key: str) -> DocumentRendition | None:
    """Return the rendition with this primary key, or None without a key. Raises Http404."""
    if not key:
        return None
    rendition = downloads.find_named_rendition(document, pk=parse_whole_number(key))
    if rendition is None:
        raise Http404
    return rendition


def _send_file(
    request: SignedIn,
    document: Document,
    reason: str = "",
    rendition: DocumentRendition | None = None,
) -> HttpResponseBase:
    """Record the download, and return what the person may have: the original, or a rendition.

    If the rendition has not been made yet, return to the page of the document, which says so.
    Raises Http404 if the person may have nothing.
    """
    try:
        offered = downloads.choose_file(document, request.user, rendition)
        content = offered.open()
    except downloads.RenditionMissing:
        return redirect("document", document.pk)
    except FileNotFoundError as error:
        raise Http404 from error
    if request.method != "HEAD":
        by = request.user.actor
        downloads.record_download(
            document, content, by=by, reason=reason, rendition=offered.rendition
        )
    return FileResponse(
        content,
        as_attachment=True,
        filename=offered.filename,
        content_type=offered.media_type,
    )
