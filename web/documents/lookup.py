"""Looks up the document of a page among the documents that the person can see."""

from django.http import Http404
from django.shortcuts import get_object_or_404

from ingestion.models import Document
from sites.models import User
from web.documents.outcomes import PREFETCHED


def get_visible_document(user: User, pk: int) -> Document:
    """Return a document. Raises Http404 if the person cannot see it."""
    documents = Document.objects.visible_to(user).prefetch_related("findings", *PREFETCHED)
    related = ("site__study", "packet", "batch", "duplicate_of__packet", "corrects")
    return get_object_or_404(documents.select_related(*related), pk=pk)


def get_own_document(user: User, pk: int) -> Document:
    """Return a document for an action of its site.

    Raises Http404 for staff, who have pages of their own, and for documents of other sites.
    """
    if user.is_staff:
        raise Http404
    return get_visible_document(user, pk)
