"""Signs and sends certified copies of a document, at `/documents/<id>/copies/`."""

import tempfile
from contextlib import ExitStack

from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from ingestion.certified_copies import certification
from ingestion.certified_copies.certification import (
    MEANING,
    CertificationRefused,
    DocumentNotOnFile,
)
from ingestion.models import Document
from web.documents.lookup import get_visible_document
from web.shell.access import DOWNLOAD, FORM, SignedIn, restrict_page
from web.shell.forms import SignedForm, make_action_reason_field


class CopyForm(SignedForm):
    """Signs a certified copy, with its purpose."""

    reason = make_action_reason_field(
        _("Purpose of the copy"),
        _("Recorded in the audit trail and printed on the certificate."),
    )


@restrict_page(FORM)
@sensitive_post_parameters("password")
def certified_copies(request: SignedIn, pk: int) -> HttpResponse:
    """Show the copies that the person signed. With POST, sign another one."""
    document = get_visible_document(request.user, pk)
    form = CopyForm(request.POST or None)
    if form.is_valid() and (by := form.sign(request.user, MEANING)):
        try:
            reason = form.cleaned_data["reason"]
            certification.certify(document, reason=reason, by=by, person=request.user)
        except CertificationRefused as refusal:
            return _render_refusal(request, document, refusal)
        messages.success(request, gettext("The certified copy was signed. Download it below."))
        return redirect("certified_copies", document.pk)
    return _render_page(request, document, form=form, status=400 if form.errors else 200)


@restrict_page(DOWNLOAD)
def certified_copy(request: SignedIn, pk: int, seq: int) -> HttpResponse | FileResponse:
    """Return the package of a copy to the person who signed it."""
    document = get_visible_document(request.user, pk)
    certifications = certification.find_certifications(document, request.user.actor_name)
    entry = next((entry for entry in certifications if entry.seq == seq), None)
    if entry is None:
        raise Http404
    with ExitStack() as closing:
        file = closing.enter_context(tempfile.TemporaryFile())
        try:
            certification.write_package(file, document, entry, request.user)
        except CertificationRefused as refusal:
            return _render_refusal(request, document, refusal)
        certification.record_package_download(document, entry, by=request.user.actor)
        closing.pop_all()  # the response closes the file
    file.seek(0)
    name = f"certified-copy-{document.site.site_id}-{document.doc_id}-{seq}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


def _render_refusal(
    request: SignedIn, document: Document, refusal: CertificationRefused
) -> HttpResponse:
    """Answer 409 if the document is not on file, and 503 if its archived file is damaged."""
    status = 409 if isinstance(refusal, DocumentNotOnFile) else 503
    return _render_page(request, document, refusal=str(refusal), status=status)


def _render_page(
    request: SignedIn,
    document: Document,
    *,
    form: CopyForm | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "document": document,
        "form": form,
        "refusal": refusal or certification.explain_certification_refusal(document, request.user),
        "signed": certification.find_certifications(document, request.user.actor_name),
        "meaning": MEANING,
    }
    return render(request, "documents/certified_copies.html", context, status=status)
