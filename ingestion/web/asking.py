"""What a site asks for one document: to be fetched once more, or a look by QA."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from ingestion import retrying, review
from ingestion.filing import By
from ingestion.web.access import SignedIn, of_own_site
from ingestion.web.forms import PlainForm
from ingestion.web.outcomes import outcome


class Question(PlainForm):
    words = forms.CharField(
        label="Why do you think that the check is wrong?",
        help_text="QA reads this word for word. Say what they should look at, and on which page.",
        max_length=review.MOST_WORDS,
        widget=forms.Textarea(attrs={"rows": 6}),
        error_messages={"required": "Say in a few words what QA should look at"},
    )


@never_cache
@login_required
@require_POST
def retry(request: SignedIn, pk: int) -> HttpResponse:
    """Ask its portal once more, for what the portal would not give."""
    document = of_own_site(request.user, pk)
    by = By(request.user.actor, request.user.role)
    try:
        retrying.fetch_again(document, by=by)
    except retrying.NotRetried as refusal:
        messages.info(request, str(refusal))
    else:
        messages.info(request, "We ask your portal again. You see here what comes of it.")
    return redirect("document", pk)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: SignedIn, pk: int) -> HttpResponse:
    document = of_own_site(request.user, pk)
    form = Question(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            review.ask(document, form.cleaned_data["words"], person=request.user)
        except review.NotAsked:
            document.refresh_from_db()  # somebody was first: the page says so
        else:
            messages.info(request, "QA has your question. The answer appears here.")
            return redirect("document", pk)
    if why := review.refusal(document):
        context = {"document": document, "why": why, "requests": document.review_requests.all()}
        return render(request, "documents/not_to_ask.html", context, status=409)
    context = {"document": document, "each": outcome(document), "form": form}
    return render(request, "documents/ask.html", context, status=422 if form.errors else 200)
