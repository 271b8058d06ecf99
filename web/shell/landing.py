"""Where each role starts after signing in, and what `/` is to staff. One table, by permission."""

from django.urls import reverse

from sites.models import User

# The first that a person has: regulatory affairs, QA, operations.
_STARTS = (
    ("audit.export_ledger", "trail"),
    ("ingestion.review_document", "review_queue"),
    ("ingestion.view_chunk", "ops"),
)


def start_page(user: User) -> str:
    """The address. Administrators start at the admin's index, and so does who has none of these."""
    if not user.is_staff:
        return reverse("home")
    names = [] if user.is_superuser else [name for may, name in _STARTS if user.has_perm(may)]
    return reverse(names[0] if names else "admin:index")
