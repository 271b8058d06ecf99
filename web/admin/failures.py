"""The admin of failed background tasks, with the batches that they worked on.

It replaces django-q2's page, which offers to run a task again: the dispatcher starts tasks
whenever there is work.
"""

import re
from collections.abc import Sequence
from typing import Any

import django_q.admin  # noqa: F401 - it registers what is replaced here
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _
from django_q.models import Failure

from ingestion.models import Chunk
from web.admin.records import ReadOnlyAdmin

_IN_HAND = re.compile(r"^It had in hand: (.*)$", re.MULTILINE)  # a failed shift's last words

admin.site.unregister(Failure)


@admin.register(Failure)
class FailureAdmin(ReadOnlyAdmin):
    list_display = ["stopped", "name", "reason", "batches"]
    list_filter = ["func", ("stopped", admin.DateFieldListFilter)]
    ordering = ["-stopped"]
    search_fields = ["name", "func"]
    search_help_text = _("Enter the name of a task, for example shift.")
    fields = ["name", "func", "started", "stopped", "reason", "batches", "whole"]
    readonly_fields = ["reason", "batches", "whole"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Failure]:
        return super().get_queryset(request).filter(success=False)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        page = super().get_changelist_instance(request)
        _find_batches(page.result_list)
        return page

    def get_object(self, request: HttpRequest, *args: Any, **options: Any) -> Failure | None:
        failure = super().get_object(request, *args, **options)
        _find_batches([failure] if failure else [])
        return failure

    @admin.display(description=_("error"))
    def reason(self, failure: Failure) -> str:
        return str(failure.result).partition(" : Traceback")[0][:200]

    @admin.display(description=_("batches"))
    def batches(self, failure: Failure) -> str:
        """Return links to the batches whose chunks the shift worked on; "-" for none."""
        links = [
            (reverse("admin:ingestion_batch_change", args=[key]), reference)
            for key, reference in sorted(failure.in_hand)
        ]
        return format_html_join(", ", '<a href="{}">{}</a>', links) or "-"

    @admin.display(description=_("complete error"))
    def whole(self, failure: Failure) -> str:
        return format_html("<pre>{}</pre>", failure.result)


def _find_batches(failures: Sequence[Failure]) -> None:
    """Set `in_hand` of each failure, with one query for all."""
    named = {failure.pk: _chunks_of(str(failure.result)) for failure in failures}
    wanted = {chunk for chunks in named.values() for chunk in chunks}
    rows = Chunk.objects.filter(pk__in=wanted).values_list("pk", "batch", "batch__reference")
    batches = {chunk: (batch, reference) for chunk, batch, reference in rows}
    for failure in failures:
        failure.in_hand = {batches[chunk] for chunk in named[failure.pk] if chunk in batches}


def _chunks_of(result: str) -> list[int]:
    said = _IN_HAND.search(result)
    return [int(key) for key in re.findall(r"\bchunk (\d+)", said[1])] if said else []
