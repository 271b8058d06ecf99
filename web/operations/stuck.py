"""Serves `/admin/ops/stuck/`: items that need a person before they continue, with the actions."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from audit.change_tracking.change_reasons import MAX_REASON_CHARACTERS, MIN_REASON_CHARACTERS
from audit.ledger.actors import Actor
from audit.ledger.context import use_change_reason
from ingestion.dispatch import recovery
from ingestion.documents.stuck_sites import find_stuck_sites
from ingestion.intake import retrying
from ingestion.operations import stuck as stuck_items
from ingestion.rules.finding_texts import get_short_text as label_code
from web.permissions import RETRY_DOCUMENTS, VIEW_OPERATIONS
from web.shell.access import CHANGE, READ, SignedIn, restrict_page
from web.shell.forms import PlainForm
from web.shell.request_limits import parse_whole_number

ITEMS_PER_PAGE = 50


class StuckItemsForm(PlainForm):
    """The selected rows, and the reason for an action.

    `chosen` has the keys of rows. `code` limits "all" to documents that are held for this code.
    `name` distinguishes the forms of the page.
    """

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
        self.chosen = [key for each in chosen if (key := parse_whole_number(each)) is not None]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.chosen and self.data.get("what") != "all":
            self.add_error(None, _("Select at least one item in the list."))
        return given


@restrict_page(READ, permission=VIEW_OPERATIONS)
def stuck_items_page(request: SignedIn) -> HttpResponse:
    """Show the items that need a person before they continue."""
    return _render_page(request)


@restrict_page(CHANGE, permission=RETRY_DOCUMENTS)
def retry_held(request: SignedIn) -> HttpResponse:
    """Put held documents back into the queue: the selected ones, or all of a code."""
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

    return _run_action(request, form, act)


@restrict_page(CHANGE, permission=RETRY_DOCUMENTS)
def retry_now(request: SignedIn) -> HttpResponse:
    """Retry selected documents that are past their deadline, before their next attempt is due."""
    form = StuckItemsForm(request.POST, name="now")

    def act(by: Actor) -> str:
        done = retrying.retry_waiting_now(
            stuck_items.find_past_deadline(timezone.now()).filter(pk__in=form.chosen), by=by
        )
        sentence = ngettext("{n} document is due now.", "{n} documents are due now.", done)
        return sentence.format(n=done)

    return _run_action(request, form, act)


@restrict_page(CHANGE, permission=RETRY_DOCUMENTS)
def release_leases(request: SignedIn) -> HttpResponse:
    """Release expired leases. The documents of their chunks are due again."""
    form = StuckItemsForm(request.POST, name="release")

    def act(by: Actor) -> str:
        chunks = stuck_items.find_expired_leases().filter(pk__in=form.chosen)
        done = sum(recovery.release_lease(chunk, by=by) for chunk in chunks)
        sentence = ngettext("{n} lease was released.", "{n} leases were released.", done)
        return sentence.format(n=done)

    return _run_action(request, form, act)


def _run_action(
    request: SignedIn, form: StuckItemsForm, act: Callable[[Actor], str]
) -> HttpResponse:
    """Call `act` with the reason of the form and show its message; show the page on errors."""
    if not form.is_valid():
        return _render_page(request, form, status=400)
    user = request.user
    with use_change_reason(form.cleaned_data["reason"]):
        messages.success(request, act(user.actor))
    return redirect("ops_stuck")


def _render_page(
    request: SignedIn, invalid: StuckItemsForm | None = None, status: int = 200
) -> HttpResponse:
    now, code = timezone.now(), request.GET.get("code", "")
    if invalid is not None:
        code = invalid.data.get("code", "")
    held = stuck_items.find_held()
    codes = held.order_by("code").values_list("code").annotate(n=Count("pk"))
    held_of_code = held.filter(code=code) if code else held
    forms_by_name = {
        name: StuckItemsForm(name=name, code=code) for name in ("retry", "now", "release")
    }
    if invalid is not None:
        forms_by_name[invalid.name] = invalid
    context = {
        "codes": [(each, label_code(each), number) for each, number in codes],
        "code": code,
        "page": Paginator(held_of_code, ITEMS_PER_PAGE).get_page(request.GET.get("page")),
        "past_deadline": list(stuck_items.find_past_deadline(now)[:ITEMS_PER_PAGE]),
        "expired_leases": list(stuck_items.find_expired_leases()[:ITEMS_PER_PAGE]),
        "unclaimed_chunks": stuck_items.count_unclaimed_chunks(now),
        "stuck_sites": find_stuck_sites(now)[:ITEMS_PER_PAGE],
        "form": invalid,
        "retry_form": forms_by_name["retry"],
        "now_form": forms_by_name["now"],
        "release_form": forms_by_name["release"],
        "can_retry": request.user.has_perm(RETRY_DOCUMENTS),
    }
    return render(request, "ops/stuck.html", context, status=status)
