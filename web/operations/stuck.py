"""`/admin/ops/stuck/`: what does not go on by itself, and what a person may do about it."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from audit.change_tracking.change_reasons import MAX_REASON_CHARACTERS, MIN_REASON_CHARACTERS
from audit.ledger.actors import Actor
from audit.ledger.context import change_reason
from ingestion.dispatch import recovery
from ingestion.intake import retrying
from ingestion.operations import stuck as stuck_items
from ingestion.rules.finding_texts import reason as words_of
from web.operations.dashboard import OPERATE, SEE
from web.shell.access import CHANGE, READ, SignedIn, page
from web.shell.forms import PlainForm
from web.shell.request_limits import whole_number

ITEMS_PER_PAGE = 50


class StuckItemsForm(PlainForm):
    """`chosen` are keys of rows; `code` chooses all that are held for it."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        min_length=MIN_REASON_CHARACTERS,
        max_length=MAX_REASON_CHARACTERS,
        help_text=gettext_lazy("Recorded in the audit trail with your action."),
        error_messages={
            "required": gettext_lazy("Enter a reason."),
            "min_length": gettext_lazy("Enter a reason of at least %(limit_value)d characters."),
        },
    )
    code = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, *, name: str, code: str = "") -> None:
        super().__init__(data, auto_id=f"id_{name}_%s", initial={"code": code})
        self.name = name
        chosen = data.getlist("chosen") if data else []
        self.chosen = [key for each in chosen if (key := whole_number(each)) is not None]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.chosen and self.data.get("what") != "all":
            self.add_error(None, _("Select at least one item in the list."))
        return given


@page(READ, permission=SEE)
def stuck_items_page(request: SignedIn) -> HttpResponse:
    return _page(request)


@page(CHANGE, permission=OPERATE)
def retry_held(request: SignedIn) -> HttpResponse:
    """Held documents go back into the queue: those that are chosen, or all of a code."""
    form = StuckItemsForm(request.POST, name="retry")

    def act(by: Actor) -> str:
        code = form.cleaned_data["code"]
        is_all = request.POST.get("what") == "all"
        held = stuck_items.find_held().filter(**({"code": code} if code else {}))
        wanted = held if is_all else held.filter(pk__in=form.chosen)
        keys = list(wanted.values_list("pk", flat=True)[: retrying.MAX_DOCUMENTS_PER_RETRY])
        done = retrying.retry_held(stuck_items.find_held().filter(pk__in=keys), by=by)
        sentence = ngettext(
            "{n} document is in the queue again.", "{n} documents are in the queue again.", done
        )
        return sentence.format(n=done)

    return _done(request, form, act)


@page(CHANGE, permission=OPERATE)
def retry_now(request: SignedIn) -> HttpResponse:
    """Documents past their deadline need not wait for their next attempt."""
    form = StuckItemsForm(request.POST, name="now")

    def act(by: Actor) -> str:
        done = retrying.retry_waiting_now(
            stuck_items.find_past_deadline(timezone.now()).filter(pk__in=form.chosen), by=by
        )
        sentence = ngettext("{n} document is due now.", "{n} documents are due now.", done)
        return sentence.format(n=done)

    return _done(request, form, act)


@page(CHANGE, permission=OPERATE)
def release_leases(request: SignedIn) -> HttpResponse:
    """Release expired leases. The documents of their chunks are due again."""
    form = StuckItemsForm(request.POST, name="release")

    def act(by: Actor) -> str:
        chunks = stuck_items.find_expired_leases().filter(pk__in=form.chosen)
        done = sum(recovery.release_lease(chunk, by=by) for chunk in chunks)
        sentence = ngettext("{n} lease was released.", "{n} leases were released.", done)
        return sentence.format(n=done)

    return _done(request, form, act)


def _done(request: SignedIn, form: StuckItemsForm, act: Callable[[Actor], str]) -> HttpResponse:
    """What was written comes back with what is wrong; what is done is said."""
    if not form.is_valid():
        return _page(request, form, status=400)
    user = request.user
    with change_reason(form.cleaned_data["reason"]):
        messages.success(request, act(user.actor))
    return redirect("ops_stuck")


def _page(
    request: SignedIn, wrong: StuckItemsForm | None = None, status: int = 200
) -> HttpResponse:
    now, code = timezone.now(), request.GET.get("code", "")
    if wrong is not None:
        code = wrong.data.get("code", "")
    held = stuck_items.find_held()
    codes = held.order_by("code").values_list("code").annotate(n=Count("pk"))
    chosen = held.filter(code=code) if code else held
    forms_ = {name: StuckItemsForm(name=name, code=code) for name in ("retry", "now", "release")}
    if wrong is not None:
        forms_[wrong.name] = wrong
    context = {
        "codes": [(each, words_of(each), number) for each, number in codes],
        "code": code,
        "page": _paged(chosen, request),
        "past_deadline": list(stuck_items.find_past_deadline(now)[:ITEMS_PER_PAGE]),
        "expired_leases": list(stuck_items.find_expired_leases()[:ITEMS_PER_PAGE]),
        "unclaimed_chunks": stuck_items.count_unclaimed_chunks(now),
        "form": wrong,
        "retry_form": forms_["retry"],
        "now_form": forms_["now"],
        "release_form": forms_["release"],
        "may_operate": request.user.has_perm(OPERATE),
    }
    return render(request, "ops/stuck.html", context, status=status)


def _paged(rows: "QuerySet[Any]", request: SignedIn) -> Any:
    return Paginator(rows, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
