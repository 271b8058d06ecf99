"""`/documents/<id>/copies/`: sign for a certified copy, and take it away."""

import tempfile
from contextlib import ExitStack

from django import forms
from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from audit.change_tracking.change_reasons import MAX_REASON_CHARACTERS, MIN_REASON_CHARACTERS
from ingestion.certified_copies import certification
from ingestion.certified_copies.certification import (
    MEANING,
    CertificationRefused,
    DocumentNotOnFile,
)
from ingestion.models import Document
from web.documents.lookup import get_visible_document
from web.shell.access import DOWNLOAD, FORM, SignedIn, page
from web.shell.forms import SignedForm


class CopyForm(SignedForm):
    reason = forms.CharField(
        label=_("Purpose of the copy"),
        help_text=_("Recorded in the audit trail and printed on the certificate."),
        min_length=MIN_REASON_CHARACTERS,
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3}),
    )


@page(FORM)
@sensitive_post_parameters("password")
def certified_copies(request: SignedIn, pk: int) -> HttpResponse:
    document = get_visible_document(request.user, pk)
    form = CopyForm(request.POST or None)
    if form.is_valid() and (by := form.signed(request.user, MEANING)):
        try:
            certification.certify(document, reason=form.cleaned_data["reason"], by=by)
        except CertificationRefused as refused:
            return _refused(request, document, refused)
        messages.success(request, gettext("The certified copy was signed. Download it below."))
        return redirect("certified_copies", document.pk)
    return _shown(request, document, form=form, status=400 if form.errors else 200)


@page(DOWNLOAD)
def certified_copy(request: SignedIn, pk: int, seq: int) -> HttpResponse | FileResponse:
    """The package, for whoever signed it."""
    document = get_visible_document(request.user, pk)
    signed = certification.find_certifications(document, request.user.actor_name)
    found = next((each for each in signed if each.seq == seq), None)
    if found is None:
        raise Http404
    with ExitStack() as refused:
        file = refused.enter_context(tempfile.TemporaryFile())
        try:
            certification.write_package(file, document, found)
        except CertificationRefused as why:
            return _refused(request, document, why)
        by = request.user.actor
        certification.record_download(document, found, by=by)
        refused.pop_all()  # the response closes it
    file.seek(0)
    name = f"certified-copy-{document.site.site_id}-{document.doc_id}-{seq}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


def _refused(request: SignedIn, document: Document, refused: CertificationRefused) -> HttpResponse:
    """409 for what the document is; 503 for what we have let happen to it."""
    status = 409 if isinstance(refused, DocumentNotOnFile) else 503
    return _shown(request, document, refusal=str(refused), status=status)


def _shown(
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
        "refusal": refusal or certification.explain_refusal(document),
        "signed": certification.find_certifications(document, request.user.actor_name),
        "meaning": MEANING,
    }
    return render(request, "documents/certified_copies.html", context, status=status)
