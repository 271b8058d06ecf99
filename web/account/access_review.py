"""The access review: all active accounts, and the signature of the reviewer (R22)."""

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from audit.change_tracking.change_reasons import MIN_REASON_CHARACTERS
from sites.accounts import access_review
from web.shell.access import FORM, READ, SignedIn, page
from web.shell.forms import SignedForm

SEE_PEOPLE = "clinical_sites.view_user"
SIGN = "clinical_sites.review_user"
ACCOUNTS_PER_PAGE = 100
MEANING = "review of accounts and roles"


class AccessReviewForm(SignedForm):
    outcome = forms.ChoiceField(label=_("Outcome"), choices=list(access_review.OUTCOMES.items()))
    findings = forms.CharField(
        label=_("Findings"),
        help_text=_("Describe what you checked, and what has to change."),
        min_length=MIN_REASON_CHARACTERS,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )


@page(FORM, permission=SEE_PEOPLE)
@sensitive_post_parameters("password")
def review(request: SignedIn) -> HttpResponse:
    may_sign = request.user.has_perm(SIGN) and not request.user.is_auditor
    form = AccessReviewForm(request.POST or None) if may_sign else None
    if form and form.is_valid() and (signature := form.signed(request.user, MEANING, SIGN)):
        given = form.cleaned_data
        access_review.sign(
            access_review.accounts(),
            outcome=given["outcome"],
            findings=given["findings"],
            by=signature,
        )
        messages.success(request, gettext("The review is signed and recorded."))
        return redirect("access_review")
    due = access_review.due_on()
    page = Paginator(access_review.people(), ACCOUNTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "accounts": access_review.accounts(page.object_list),
        "reviews": access_review.reviews(),
        "due": due,
        "is_overdue": due is not None and timezone.now().date() > due,
        "form": form,
        "meaning": MEANING,
    }
    return render(
        request, "account/access_review.html", context, status=400 if form and form.errors else 200
    )


@page(READ, permission=SEE_PEOPLE)
def table(request: SignedIn) -> HttpResponse:
    answer = HttpResponse(
        access_review.table(access_review.accounts()), content_type="text/csv; charset=utf-8"
    )
    name = f"accounts-{timezone.now():%Y-%m-%d}.csv"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
