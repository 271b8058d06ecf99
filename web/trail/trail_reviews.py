"""`/admin/audit/reviews/`: who looked the trail through, what they found, and when it is due."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from audit import trail_reviews
from audit.trail_reviews import DAY, Outcome
from sites.roles import label
from web.permissions import REVIEW, SEE_REVIEWS
from web.shell.access import FORM, READ, SignedIn, page
from web.trail.forms import AuditReviewForm

REVIEWS_PER_PAGE = 20
MEANING = "review"  # what the signature means, 21 CFR 11.50(a)(3)


@page(READ, permission=SEE_REVIEWS)
def review_list(request: SignedIn) -> HttpResponse:
    due = trail_reviews.review_due()
    page = Paginator(trail_reviews.list_reviews(), REVIEWS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    roles = trail_reviews.signer_roles(page.object_list)
    context = {
        "due": due,
        "is_overdue": due.is_overdue(timezone.now().date()),
        "page": page,
        "signed": [(each, label(roles.get(each.pk, ""))) for each in page.object_list],
        "may_review": request.user.has_perm(REVIEW),
    }
    return render(request, "trail/reviews.html", context)


@page(READ, permission=SEE_REVIEWS)
def audit_review_page(request: SignedIn, pk: int) -> HttpResponse:
    found = trail_reviews.find_review(pk)
    if found is None:
        raise Http404
    context = {
        "review": found,
        "role": label(trail_reviews.signer_roles([found]).get(found.pk, "")),
        "account": trail_reviews.signer_account(found),
        "changed": trail_reviews.changed_since_signing(found),
    }
    return render(request, "trail/review.html", context)


@page(FORM, permission=REVIEW)
@sensitive_post_parameters("password")
def new_review(request: SignedIn) -> HttpResponse:
    form = AuditReviewForm(request.POST or None, initial=_next_period())
    if form.is_valid() and (signature := form.signed(request.user, MEANING, REVIEW)):
        given = form.cleaned_data
        made = trail_reviews.sign_review(
            form.scope,
            findings=given["findings"],
            outcome=Outcome(given["outcome"]),
            by=signature,
        )
        messages.success(request, _("The review was signed and recorded."))
        return redirect("trail_review", made.pk)
    status = 400 if form.errors else 200
    return render(request, "trail/review_form.html", {"form": form}, status=status)


def _next_period() -> dict[str, object]:
    """What is due: from the first day that no review covers, to yesterday."""
    today = timezone.now().date()
    since = trail_reviews.review_due().since or today
    return {"since": min(since, today), "until": max(min(since, today), today - DAY)}
