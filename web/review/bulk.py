"""`/admin/review/together/`: several documents at once, where that is safe.

To take them, and to return those of one code with the same note. Never to file: each document that
is filed has been looked at by itself.
"""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters

from ingestion.documents import downloads
from ingestion.models import Action, Document
from ingestion.review import assignments, decisions
from ingestion.review.decision_rules import RULES, list_permitted_actions
from ingestion.review.decisions import DecisionRefused
from ingestion.rules.finding_texts import reason
from web.review.forms import ReviewDecisionForm
from web.review.sign import make_signature
from web.shell.access import CHANGE, SignedIn, page
from web.shell.request_limits import whole_number

MAX_DOCUMENTS_AT_ONCE = 50  # documents at a time: what one page of the queue shows


@page(CHANGE, permission=downloads.REVIEW_PERMISSION)
@sensitive_post_parameters("password")
def decide_together(request: SignedIn) -> HttpResponse:
    chosen = _chosen(request)
    if not chosen:
        messages.warning(request, _("Select at least one document."))
        return redirect("review_queue")
    if request.POST.get("do") == "take":
        taken = sum(
            assignments.assign(document, request.user, by=request.user) for document in chosen
        )
        newly = ngettext(
            "{n} document is now assigned to you.", "{n} documents are now assigned to you.", taken
        )
        messages.success(request, newly.format(n=taken))
        return redirect("review_queue")
    return _return(request, chosen)


def _return(request: SignedIn, chosen: Sequence[Document]) -> HttpResponse:
    """Return them all with one note. Each is decided by itself, on the version that was listed."""
    codes = {document.code for document in chosen}
    if len(codes) > 1:
        messages.warning(request, _("Select documents that have the same reason."))
        return redirect("review_queue")
    versions = {document.pk: decisions.get_version(document) for document in chosen}
    is_sent = "made_on" in request.POST
    data = request.POST if is_sent else None
    form = ReviewDecisionForm(Action.RETURN, chosen, data, initial={"made_on": _joined(versions)})
    if form.is_valid() and (by := make_signature(request, form)):
        made_on = _split(form.cleaned_data["made_on"])
        failed = []
        for document in chosen:
            on = made_on.get(document.pk, "")
            try:
                decisions.decide(
                    document, form.decision_input, expected_version=on, user=request.user, by=by
                )
            except DecisionRefused as refused:
                failed.append((document, refused))
        returned = len(chosen) - len(failed)
        done = ngettext("{n} document was returned.", "{n} documents were returned.", returned)
        messages.success(request, done.format(n=returned))
        for document, error in failed:
            sentence = _("{type}, site {site}, was not returned: {error}").format(
                type=document.type_name, site=document.site.site_id, error=error
            )
            messages.warning(request, sentence)
        return redirect("review_queue")
    context = {
        "form": form,
        "chosen": chosen,
        "finding": reason(codes.pop()),
        "rule": RULES[Action.RETURN],
        "meaning": RULES[Action.RETURN].meaning,
        "back": reverse("review_queue"),
    }
    return render(
        request, "review/return_several.html", context, status=400 if form.errors else 200
    )


def _chosen(request: SignedIn) -> list[Document]:
    """Those that this person may return, in the order of the queue."""
    keys = map(whole_number, request.POST.getlist("document"))
    given = [key for key in keys if key is not None][:MAX_DOCUMENTS_AT_ONCE]
    rows = Document.objects.filter(pk__in=given).order_by("settled_at", "pk")
    rows = rows.select_related("site", "packet", "batch").prefetch_related("findings")
    return [each for each in rows if Action.RETURN in list_permitted_actions(request.user, each)]


def _joined(versions: dict[int, str]) -> str:
    query = QueryDict(mutable=True)
    query.update({str(key): version for key, version in versions.items()})
    return query.urlencode()


def _split(joined: str) -> dict[int, str]:
    versions = {whole_number(key): str(on) for key, on in QueryDict(joined).items()}
    return {key: on for key, on in versions.items() if key is not None}
