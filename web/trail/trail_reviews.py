"""Serves `/admin/audit/reviews/`: signed reviews of the audit trail, and the next due date."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from audit import trail_reviews
from audit.trail_reviews import DAY, Outcome
from sites.roles import get_role_label
from web.permissions import SIGN_TRAIL_REVIEW, VIEW_TRAIL_REVIEWS
from web.shell.access import FORM, READ, SignedIn, restrict_page
from web.trail.forms import AuditReviewForm

REVIEWS_PER_PAGE = 20
MEANING = "review"  # of the signature, 21 CFR 11.50(a)(3)


@restrict_page(READ, permission=VIEW_TRAIL_REVIEWS)
def review_list(request: SignedIn) -> HttpResponse:
    """List the signed reviews, and when the next one is due."""
    due = trail_reviews.compute_review_due()
    reviews = Paginator(trail_reviews.list_reviews(), REVIEWS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    roles = trail_reviews.get_signer_roles(reviews.object_list)
    context = {
        "due": due,
        "is_overdue": due.is_overdue(timezone.now().date()),
        "page": reviews,
        "signed": [
            (review, get_role_label(roles.get(review.pk, ""))) for review in reviews.object_list
        ],
        "can_review": request.user.has_perm(SIGN_TRAIL_REVIEW),
    }
    return render(request, "trail/reviews.html", context)


@restrict_page(READ, permission=VIEW_TRAIL_REVIEWS)
def audit_review_page(request: SignedIn, pk: int) -> HttpResponse:
    """Show one signed review, and whether its entries changed since. Raises Http404."""
    review = trail_reviews.find_review(pk)
    if review is None:
        raise Http404
    context = {
        "review": review,
        "role": get_role_label(trail_reviews.get_signer_roles([review]).get(review.pk, "")),
        "account": trail_reviews.describe_signer_account(review),
        "changed": trail_reviews.list_changes_since_review(review),
    }
    return render(request, "trail/review.html", context)


@restrict_page(FORM, permission=SIGN_TRAIL_REVIEW)
@sensitive_post_parameters("password")
def new_review(request: SignedIn) -> HttpResponse:
    """Show the form of a review. With POST, sign the review."""
    # The due period reaches from the first day without a review to yesterday.
    today = timezone.now().date()
    first_day = min(trail_reviews.compute_review_due().since or today, today)
    period = {"since": first_day, "until": max(first_day, today - DAY)}
    form = AuditReviewForm(request.POST or None, initial=period)
    if form.is_valid() and (by := form.sign(request.user, MEANING, SIGN_TRAIL_REVIEW)):
        review = trail_reviews.sign_review(
            form.scope,
            findings=form.cleaned_data["findings"],
            outcome=Outcome(form.cleaned_data["outcome"]),
            by=by,
        )
        messages.success(request, _("The review was signed and recorded."))
        return redirect("trail_review", review.pk)
    status = 400 if form.errors else 200
    return render(request, "trail/review_form.html", {"form": form}, status=status)
