"""Shows the access review: all active accounts, and the signature of the reviewer (R22)."""

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
from web.permissions import SIGN_ACCESS_REVIEW, VIEW_ACCOUNTS
from web.shell.access import FORM, READ, SignedIn, restrict_page
from web.shell.forms import SignedForm

ACCOUNTS_PER_PAGE = 100
MEANING = "review of accounts and roles"  # of the signature, 21 CFR 11.50(a)(3)


class AccessReviewForm(SignedForm):
    """Signs the review of all active accounts, with its outcome and findings (R22)."""

    outcome = forms.ChoiceField(label=_("Outcome"), choices=list(access_review.OUTCOMES.items()))
    findings = forms.CharField(
        label=_("Findings"),
        help_text=_("Describe what you checked, and what has to change."),
        min_length=MIN_REASON_CHARACTERS,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )


@restrict_page(FORM, permission=VIEW_ACCOUNTS)
@sensitive_post_parameters("password")
def review_accounts(request: SignedIn) -> HttpResponse:
    """Show all active accounts and the reviews so far. With POST, sign a review."""
    can_sign = request.user.has_perm(SIGN_ACCESS_REVIEW) and not request.user.is_auditor
    form = AccessReviewForm(request.POST or None) if can_sign else None
    if form and form.is_valid():
        signature = form.sign(request.user, MEANING, SIGN_ACCESS_REVIEW)
        if signature:
            access_review.sign(
                access_review.list_accounts(),
                outcome=form.cleaned_data["outcome"],
                findings=form.cleaned_data["findings"],
                by=signature,
            )
            messages.success(request, gettext("The review was signed and recorded."))
            return redirect("access_review")
    due = access_review.compute_due_date()
    people = Paginator(access_review.list_active_people(), ACCOUNTS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "page": people,
        "accounts": access_review.list_accounts(people.object_list),
        "reviews": access_review.list_reviews(),
        "due": due,
        "is_overdue": due is not None and timezone.now().date() > due,
        "form": form,
        "meaning": MEANING,
    }
    status = 400 if form and form.errors else 200
    return render(request, "account/access_review.html", context, status=status)


@restrict_page(READ, permission=VIEW_ACCOUNTS)
def download_accounts(request: SignedIn) -> HttpResponse:
    """Return all active accounts as a CSV file."""
    csv = access_review.format_csv(access_review.list_accounts())
    filename = f"accounts-{timezone.now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return HttpResponse(csv, content_type="text/csv; charset=utf-8", headers=headers)
