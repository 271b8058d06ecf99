"""Serves the help pages: how to send documents, and all messages of the checks."""

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion import notifications
from ingestion.core.states import DocumentState
from ingestion.models import Draft
from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.finding_texts import describe_attributes, format_sentences, get_short_text
from ingestion.rules.messages import (
    CATEGORY_LABELS,
    OWNER_LABELS,
    RETRY_LABELS,
    SEVERITY_LABELS,
)
from web.shell.access import READ, restrict_page

HEADINGS: Mapping[Disposition, Promise] = MappingProxyType(
    {
        Disposition.REJECT: _("Rejected: correct the document and upload it again"),
        Disposition.REVIEW: _("In review: QA decides"),
        Disposition.HOLD: _("Held by us: you do not need to do anything"),
        Disposition.WARN: _("Filed with a remark"),
        Disposition.INFO: _("For information"),
    }
)
STATES: Mapping[DocumentState, Promise] = MappingProxyType(
    {
        DocumentState.RECEIVED: _("We have received the document. It is waiting to be checked."),
        DocumentState.VALIDATING: _("The document is being read and checked."),
        DocumentState.ARCHIVED: _("All checks passed. You do not need to do anything."),
        DocumentState.DEDUPED: _(
            "The same file is already on file for this site. You do not need to do anything."
        ),
        DocumentState.DIVIDED: _(
            "The file holds several documents. Each of them has a status of its own."
        ),
        DocumentState.REJECTED: _("The document needs a correction. Its page explains what to do."),
        DocumentState.RETURNED: _(
            "QA reviewed the document and asks you for a correction. The note on its "
            "page explains what to do."
        ),
        DocumentState.IN_REVIEW: _(
            "QA is reviewing the document. Until QA decides, you can replace the file "
            "or correct its type or person."
        ),
        DocumentState.HELD: _(
            "There is a technical problem on our side or at the portal. Your document is not the "
            "cause."
        ),
        DocumentState.WITHDRAWN: _(
            "The document was filed in error, or you replaced it during review. The "
            "file and its history are kept."
        ),
        DocumentState.CANCELLED: _("The document was cancelled before it was checked."),
    }
)


@restrict_page(READ, may_be_stored=True)
def help_page(request: HttpRequest) -> HttpResponse:
    """Show how to send documents, with the limits and states of this installation."""
    context = {
        "states": STATES.items(),
        "max_megabytes": settings.MAX_DOCUMENT_MB,
        "draft_days": Draft.KEPT.days,
        "has_notifications": notifications.is_on(),
    }
    return render(request, "help/page.html", context)


@restrict_page(READ, may_be_stored=True)
def rejections(request: HttpRequest) -> HttpResponse:
    """List all finding codes with their sentences, grouped by what happens to the document."""
    by_disposition = defaultdict(list)
    for code, entry in CODES.items():
        by_disposition[entry.disposition].append(
            (code, get_short_text(code), format_sentences(code, {}), describe_attributes(code))
        )
    groups = [(heading, by_disposition[key]) for key, heading in HEADINGS.items()]
    taxonomy: list[tuple[Promise, Mapping[Any, tuple[str, str]]]] = [
        (_("Category"), CATEGORY_LABELS),
        (_("Severity"), SEVERITY_LABELS),
        (_("Owner"), OWNER_LABELS),
        (_("Retry"), RETRY_LABELS),
    ]
    attributes = [
        (name, [(gettext(label), gettext(meaning)) for label, meaning in labels.values()])
        for name, labels in taxonomy
    ]
    context = {"groups": groups, "attributes": attributes}
    return render(request, "help/rejections.html", context)
