"""What a site asks for one document: another fetch, a look by QA, another type or person."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.change_tracking.change_reasons import MIN_REASON_CHARACTERS
from ingestion.intake import declarations, retrying
from ingestion.intake.declarations import Declaration
from ingestion.models import Document
from ingestion.review import review_requests
from sites import eligibility
from web.documents.lookup import get_own_document
from web.documents.outcomes import describe_outcome
from web.shell.access import CHANGE, FORM, SignedIn, page
from web.shell.forms import PlainForm, person_field, type_field

MAX_REASON_LENGTH = 500  # characters


class ReviewRequestForm(PlainForm):
    words = forms.CharField(
        label=_("Why do you think that the check is wrong?"),
        help_text=_("QA reads your text. Name the page and describe what QA should look at."),
        max_length=review_requests.MAX_REQUEST_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6}),
        error_messages={"required": _("Describe what QA should look at.")},
    )


class DeclarationForm(PlainForm):
    """What a document is and whose it is, and why that is corrected."""

    document_type = type_field()
    person = person_field()
    reason = forms.CharField(
        label=_("Reason"),
        help_text=_("Recorded in the audit trail with your name."),
        min_length=MIN_REASON_CHARACTERS,
        max_length=MAX_REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, document: Document, *args: Any, **options: Any) -> None:
        now = Declaration.of(document)
        initial = {"document_type": now.document_type, "person": now.person}
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
        """After `is_valid()`."""
        given = self.cleaned_data
        return Declaration(given.get("document_type", ""), given.get("person", "").strip())


@page(FORM)
def correct_declaration(request: SignedIn, pk: int) -> HttpResponse:
    """Correct what the document was sent as; 409 where that cannot be done any more."""
    document = get_own_document(request.user, pk)
    if missing := eligibility.may_upload(request.user):
        return render(request, "packets/upload_not_allowed.html", {"missing": missing}, status=403)
    form = DeclarationForm(document, request.POST if request.method == "POST" else None)
    if not declarations.explain_refusal(document) and form.is_valid():
        by = request.user.actor
        try:
            declarations.correct_declaration(
                document, form.declared, form.cleaned_data["reason"], by=by
            )
        except declarations.RedeclarationRefused as refused:
            form.add_error(None, str(refused))
            document = get_own_document(request.user, pk)  # somebody was first: the page says so
        else:
            messages.info(
                request,
                gettext("Your correction is saved. The checks run again. See the result here."),
            )
            return redirect("document", pk)
    if why := declarations.explain_refusal(document):
        context = {"document": document, "why": why, "typed": form.data.get("reason", "")}
        return render(request, "documents/type_correction_refused.html", context, status=409)
    context = {"document": document, "outcome": describe_outcome(document), "form": form}
    return render(
        request, "documents/type_correction.html", context, status=422 if form.errors else 200
    )


@page(CHANGE)
def retry_download(request: SignedIn, pk: int) -> HttpResponse:
    """Ask its portal once more, for what the portal would not give."""
    document = get_own_document(request.user, pk)
    by = request.user.actor
    try:
        retrying.retry_download(document, by=by)
    except retrying.RetryRefused as refusal:
        messages.info(request, str(refusal))
    else:
        messages.info(request, gettext("The download is retried. See the result here."))
    return redirect("document", pk)


@page(FORM)
def request_review(request: SignedIn, pk: int) -> HttpResponse:
    document = get_own_document(request.user, pk)
    form = ReviewRequestForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            review_requests.request_review(document, form.cleaned_data["words"], user=request.user)
        except review_requests.ReviewRequestRefused:
            document.refresh_from_db()  # somebody was first: the page says so
        else:
            messages.info(request, gettext("QA has received your request. See the answer here."))
            return redirect("document", pk)
    if why := review_requests.explain_refusal(document):
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
