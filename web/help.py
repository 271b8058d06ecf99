"""Help: how to send documents, and every reason for which one may be stopped."""

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ingestion import notifications
from ingestion.core.states import DocumentState
from ingestion.models import Draft
from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.finding_texts import Sentences, reason, sentences

HEADINGS: Mapping[Disposition, str] = MappingProxyType(
    {
        Disposition.REJECT: "Rejected: correct it and upload it again",
        Disposition.REVIEW: "In review: QA decides",
        Disposition.HOLD: "Held by us: nothing to do",
        Disposition.WARN: "Filed, with a remark",
        Disposition.INFO: "Good to know",
    }
)
_S = DocumentState
STATES: Mapping[DocumentState, str] = MappingProxyType(
    {
        _S.RECEIVED: "It is here, and waits for its turn.",
        _S.VALIDATING: "It is being read and checked.",
        _S.ARCHIVED: "It passed, and is on file. Nothing to do.",
        _S.DEDUPED: "The very same file is on file for this site. Nothing to do.",
        _S.REJECTED: "Something on it has to be put right. Its page says what, and how.",
        _S.RETURNED: "A person in QA looked at it and asks for a correction, in their own words.",
        _S.IN_REVIEW: "A person in QA decides. Until then you can replace the file, or correct its "
        "type or person.",
        _S.HELD: "Something on our side, or the portal's, keeps it. Nothing is wrong with it.",
        _S.WITHDRAWN: "It was filed in error, or replaced in review. File and history are kept.",
        _S.CANCELLED: "It was cancelled before it was checked.",
    }
)


@login_required
@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    context = {
        "states": STATES.items(),
        "largest_mb": settings.MAX_DOCUMENT_MB,
        "kept_days": Draft.KEPT.days,
        "mails": notifications.is_on(),
    }
    return render(request, "help/page.html", context)


@login_required
@require_safe
def rejections(request: HttpRequest) -> HttpResponse:
    return render(request, "help/rejections.html", {"groups": list(_groups())})


def _groups() -> list[tuple[str, list[tuple[str, str, Sentences]]]]:
    by_disposition = defaultdict(list)
    for code, entry in CODES.items():
        by_disposition[entry.disposition].append((code, reason(code), sentences(code, {})))
    return [(heading, by_disposition[kind]) for kind, heading in HEADINGS.items()]
