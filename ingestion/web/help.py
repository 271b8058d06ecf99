"""Help: every reason for which a document may be stopped, made from the codes themselves."""

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.sentences import Sentences, reason, sentences

HEADINGS: Mapping[Disposition, str] = MappingProxyType(
    {
        Disposition.REJECT: "Rejected: correct it and upload it again",
        Disposition.REVIEW: "In review: QA decides",
        Disposition.HOLD: "Held by us: nothing to do",
        Disposition.WARN: "Filed, with a remark",
        Disposition.INFO: "Good to know",
    }
)


@login_required
@require_safe
def rejections(request: HttpRequest) -> HttpResponse:
    return render(request, "help/rejections.html", {"groups": list(_groups())})


def _groups() -> list[tuple[str, list[tuple[str, str, Sentences]]]]:
    by_disposition = defaultdict(list)
    for code, entry in CODES.items():
        by_disposition[entry.disposition].append((code, reason(code), sentences(code, {})))
    return [(heading, by_disposition[kind]) for kind, heading in HEADINGS.items()]
