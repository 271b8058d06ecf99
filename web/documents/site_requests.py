"""Accepts a site's requests for one document: download again, review, correct the declaration."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.intake import declarations, retrying
from ingestion.intake.declarations import Declaration
from ingestion.models import MAX_DECISION_REASON_CHARACTERS, Document
from ingestion.review import review_requests
from sites import eligibility
from web.documents.lookup import get_own_document
from web.documents.outcomes import describe_outcome
from web.shell.access import CHANGE, FORM, SignedIn, restrict_page
from web.shell.forms import (
    PlainForm,
    make_action_reason_field,
    make_person_field,
    make_type_field,
    read_declaration,
)


class ReviewRequestForm(PlainForm):
    """Asks for the reason why QA should review a rejected document."""

    words = forms.CharField(
        label=_("Why do you think that the check is wrong?"),
        help_text=_("QA reads your text. Name the page, and describe what QA should check."),
        max_length=review_requests.MAX_REQUEST_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6}),
        error_messages={"required": _("Describe what QA should check.")},
    )


class DeclarationForm(PlainForm):
    """The corrected type and person of a document, and the reason for the correction."""

    document_type = make_type_field()
    person = make_person_field()
    reason = make_action_reason_field(
        _("Reason"),
        _("Recorded in the audit trail with your name."),
        max_length=MAX_DECISION_REASON_CHARACTERS,
    )

    def __init__(self, document: Document, *args: Any, **options: Any) -> None:
        current = Declaration.of(document)
        initial = {"document_type": current.document_type, "person": current.person}
        super().__init__(*args, initial=initial, **options)
        self.document = document
        if not declarations.can_declare_person(document):
            del self.fields["person"]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        field, sentence = declarations.find_fault(self.document, self.declared)
        if sentence and not self.has_error("document_type"):
            self.add_error(field, sentence)
        return given

    @property
    def declared(self) -> Declaration:
        """Return the entered type and person."""
        return read_declaration(self.cleaned_data)


@restrict_page(FORM)
def correct_declaration(request: SignedIn, pk: int) -> HttpResponse:
    """Correct the type and person of a document. Answer 409 if that is no longer possible."""
    document = get_own_document(request.user, pk)
    if missing := eligibility.list_missing_for_upload(request.user):
        return render(request, "packets/upload_not_allowed.html", {"missing": missing}, status=403)
    form = DeclarationForm(document, request.POST if request.method == "POST" else None)
    if not declarations.explain_declaration_refusal(document) and form.is_valid():
        by = request.user.actor
        try:
            declarations.correct_declaration(
                document, form.declared, form.cleaned_data["reason"], by=by
            )
        except declarations.RedeclarationRefused as refusal:
            form.add_error(None, str(refusal))
            # The document changed in the meantime: show its current state.
            document = get_own_document(request.user, pk)
        else:
            messages.info(
                request,
                gettext(
                    "Your correction was saved. The checks run again. This page shows the result."
                ),
            )
            return redirect("document", pk)
    if why := declarations.explain_declaration_refusal(document):
        context = {"document": document, "why": why, "entered_reason": form.data.get("reason", "")}
        return render(request, "documents/type_correction_refused.html", context, status=409)
    context = {"document": document, "outcome": describe_outcome(document), "form": form}
    return render(
        request, "documents/type_correction.html", context, status=422 if form.errors else 200
    )


@restrict_page(CHANGE)
def retry_download(request: SignedIn, pk: int) -> HttpResponse:
    """Retry the download of a document that its portal did not deliver."""
    document = get_own_document(request.user, pk)
    by = request.user.actor
    try:
        retrying.retry_download(document, by=by)
    except retrying.RetryRefused as refusal:
        messages.info(request, str(refusal))
    else:
        messages.info(
            request, gettext("The download is being retried. This page shows the result.")
        )
    return redirect("document", pk)


@restrict_page(FORM)
def request_review(request: SignedIn, pk: int) -> HttpResponse:
    """Request a review of a rejected document by QA. Answer 409 if that is not possible."""
    document = get_own_document(request.user, pk)
    form = ReviewRequestForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            review_requests.request_review(document, form.cleaned_data["words"], user=request.user)
        except review_requests.ReviewRequestRefused:
            document.refresh_from_db()  # it changed in the meantime: show its current state
        else:
            messages.info(
                request, gettext("Your request was sent to QA. This page shows the decision.")
            )
            return redirect("document", pk)
    if why := review_requests.explain_review_refusal(document):
        context = {
            "document": document,
            "why": why,
            "review_requests": document.review_requests.all(),
        }
        return render(request, "documents/review_request_refused.html", context, status=409)
    context = {"document": document, "outcome": describe_outcome(document), "form": form}
    return render(
        request, "documents/review_request.html", context, status=422 if form.errors else 200
    )
