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
from django.views.decorators.http import require_POST, require_safe

from audit.change_tracking.change_reasons import LEAST, MOST
from audit.ledger.context import because
from ingestion.dispatch import recovery
from ingestion.documents.transitions import By
from ingestion.intake import retrying
from ingestion.operations import stuck as lying
from ingestion.rules.finding_texts import reason as words_of
from web.operations.dashboard import OPERATE, SEE
from web.shell.access import SignedIn, for_staff_with
from web.shell.forms import PlainForm
from web.shell.request_limits import whole_number

ON_A_PAGE = 50


class ReasonForm(PlainForm):
    """`chosen` are keys of rows; `code` chooses all that are held for it."""

    reason = forms.CharField(
        label="Reason",
        min_length=LEAST,
        max_length=MOST,
        help_text="It stays on record beside what you do.",
        error_messages={
            "required": "Write why you do this.",
            "min_length": f"Write why, in at least {LEAST} characters.",
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
            self.add_error(None, "Choose at least one in the list.")
        return given


@for_staff_with(SEE)
@require_safe
def stuck(request: SignedIn) -> HttpResponse:
    return _page(request)


@for_staff_with(OPERATE)
@require_POST
def retry(request: SignedIn) -> HttpResponse:
    """Held documents go back into the queue: those that are chosen, or all of a code."""
    form = ReasonForm(request.POST, name="retry")

    def act(by: By) -> str:
        code = form.cleaned_data["code"]
        is_all = request.POST.get("what") == "all"
        held = lying.held().filter(**({"code": code} if code else {}))
        wanted = held if is_all else held.filter(pk__in=form.chosen)
        keys = list(wanted.values_list("pk", flat=True)[: retrying.AT_ONCE])
        done = retrying.try_again(lying.held().filter(pk__in=keys), by=by)
        return f"{_documents(done)} in the queue again."

    return _done(request, form, act)


@for_staff_with(OPERATE)
@require_POST
def at_once(request: SignedIn) -> HttpResponse:
    """Documents past their deadline need not wait for their next attempt."""
    form = ReasonForm(request.POST, name="now")

    def act(by: By) -> str:
        done = retrying.at_once(lying.overdue(timezone.now()).filter(pk__in=form.chosen), by=by)
        return f"{_documents(done)} due at once."

    return _done(request, form, act)


@for_staff_with(OPERATE)
@require_POST
def release(request: SignedIn) -> HttpResponse:
    """Leases that nobody renews are taken away; what they held is due again."""
    form = ReasonForm(request.POST, name="release")

    def act(by: By) -> str:
        chunks = lying.silent().filter(pk__in=form.chosen)
        done = sum(recovery.release(chunk, by=by) for chunk in chunks)
        return "1 lease was released." if done == 1 else f"{done} leases were released."

    return _done(request, form, act)


def _done(request: SignedIn, form: ReasonForm, act: Callable[[By], str]) -> HttpResponse:
    """What was written comes back with what is wrong; what is done is said."""
    if not form.is_valid():
        return _page(request, form, status=400)
    user = request.user
    with because(form.cleaned_data["reason"]):
        messages.success(request, act(By(user.actor, user.role)))
    return redirect("ops_stuck")


def _documents(number: int) -> str:
    return "1 document is" if number == 1 else f"{number} documents are"


def _page(request: SignedIn, wrong: ReasonForm | None = None, status: int = 200) -> HttpResponse:
    now, code = timezone.now(), request.GET.get("code", "")
    if wrong is not None:
        code = wrong.data.get("code", "")
    held = lying.held()
    codes = held.order_by("code").values_list("code").annotate(n=Count("pk"))
    chosen = held.filter(code=code) if code else held
    forms_ = {name: ReasonForm(name=name, code=code) for name in ("retry", "now", "release")}
    if wrong is not None:
        forms_[wrong.name] = wrong
    context = {
        "codes": [(each, words_of(each), number) for each, number in codes],
        "code": code,
        "page": _paged(chosen, request),
        "overdue": list(lying.overdue(now)[:ON_A_PAGE]),
        "silent": list(lying.silent()[:ON_A_PAGE]),
        "left_lying": lying.left_lying(now),
        "form": wrong,
        "retry": forms_["retry"],
        "now_form": forms_["now"],
        "release": forms_["release"],
        "may_operate": request.user.has_perm(OPERATE),
    }
    return render(request, "ops/stuck.html", context, status=status)


def _paged(rows: "QuerySet[Any]", request: SignedIn) -> Any:
    return Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page"))
