"""Shows failed background tasks in the admin, with the batches that they worked on.

It replaces the page of django-q2, which offers to run a task again. The dispatcher starts tasks as
soon as there is work.
"""

import re
from collections.abc import Sequence
from typing import Any

import django_q.admin  # noqa: F401 - registers the admin that is replaced here
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

# The line of a failed shift that names its chunks.
_CHUNKS = re.compile(r"^It had in hand: (.*)$", re.MULTILINE)

admin.site.unregister(Failure)


@admin.register(Failure)
class FailureAdmin(ReadOnlyAdmin):
    """Shows failed background tasks. They cannot be run again here."""

    list_display = ["stopped", "name", "reason", "batches"]
    list_filter = ["func", ("stopped", admin.DateFieldListFilter)]
    ordering = ["-stopped"]
    search_fields = ["name", "func"]
    search_help_text = _("Enter the name of a task, for example shift.")
    fields = ["name", "func", "started", "stopped", "reason", "batches", "complete_error"]
    readonly_fields = ["reason", "batches", "complete_error"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Failure]:
        return super().get_queryset(request).filter(success=False)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        change_list = super().get_changelist_instance(request)
        _add_batches(change_list.result_list)
        return change_list

    def get_object(self, request: HttpRequest, *args: Any, **options: Any) -> Failure | None:
        failure = super().get_object(request, *args, **options)
        _add_batches([failure] if failure else [])
        return failure

    @admin.display(description=_("error"))
    def reason(self, failure: Failure) -> str:
        """Return the message of the error without its traceback, at most 200 characters."""
        return str(failure.result).partition(" : Traceback")[0][:200]

    @admin.display(description=_("batches"))
    def batches(self, failure: Failure) -> str:
        """Return links to the batches whose chunks the shift worked on; "-" for none."""
        links = [
            (reverse("admin:ingestion_batch_change", args=[key]), reference)
            for key, reference in sorted(failure.batches_of_shift)
        ]
        return format_html_join(", ", '<a href="{}">{}</a>', links) or "-"

    @admin.display(description=_("complete error"))
    def complete_error(self, failure: Failure) -> str:
        """Return the message of the error with its traceback."""
        return format_html("<pre>{}</pre>", failure.result)


def _add_batches(failures: Sequence[Failure]) -> None:
    """Set `batches_of_shift` of each failure to (key, reference), with one query for all."""
    chunks_by_failure: dict[str, list[int]] = {}
    for failure in failures:
        line = _CHUNKS.search(str(failure.result))
        numbers = re.findall(r"\bchunk (\d+)", line[1]) if line else []
        chunks_by_failure[failure.pk] = [int(number) for number in numbers]
    keys = {chunk for chunks in chunks_by_failure.values() for chunk in chunks}
    rows = Chunk.objects.filter(pk__in=keys).values_list("pk", "batch", "batch__reference")
    batches = {chunk: (batch, reference) for chunk, batch, reference in rows}
    for failure in failures:
        failure.batches_of_shift = {
            batches[chunk] for chunk in chunks_by_failure[failure.pk] if chunk in batches
        }
