"""Finding the document that a page is about, within what the person may see."""

from django.http import Http404
from django.shortcuts import get_object_or_404

from ingestion.models import Document
from sites.models import User
from web.documents.outcomes import ACTED_ON


def get_visible_document(user: User, pk: int) -> Document:
    """Another site's document does not exist."""
    rows = Document.objects.visible_to(user).prefetch_related("findings", *ACTED_ON)
    beside = rows.select_related(
        "site__study", "packet", "batch", "duplicate_of__packet", "corrects"
    )
    return get_object_or_404(beside, pk=pk)


def get_own_document(user: User, pk: int) -> Document:
    """For what sites do about their documents; staff have pages of their own."""
    if user.is_staff:
        raise Http404
    return get_visible_document(user, pk)
