"""Shows the tasks of workers in the admin, done and failed, with the batches that they worked on.

It replaces the pages of django-q2, which offer to run a task again. The dispatcher starts tasks as
soon as there is work.
"""

import re
from collections.abc import Sequence
from typing import Any

import django_q.admin  # noqa: F401 - registers the admins that are replaced here
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _
from django_q.models import Failure, Success, Task

from ingestion.models import Batch
from web.admin.records import ReadOnlyAdmin

_REFERENCES = re.compile(r"\bBAT-\d{4}-\d{4,}\b")

admin.site.unregister([Failure, Success])


class BackgroundTaskAdmin(ReadOnlyAdmin):
    """Shows tasks of workers. They cannot be run again here."""

    list_display = ["stopped", "name", "outcome", "batches"]
    list_filter = ["func", ("stopped", admin.DateFieldListFilter)]
    ordering = ["-stopped"]
    search_fields = ["name", "func", "group"]
    search_help_text = _(
        "Enter the name of a task, for example shift, or the reference of a batch."
    )
    fields = ["name", "func", "started", "stopped", "outcome", "batches"]
    readonly_fields = ["outcome", "batches"]

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        change_list = super().get_changelist_instance(request)
        _add_batches(change_list.result_list)
        return change_list

    def get_object(self, request: HttpRequest, *args: Any, **options: Any) -> Task | None:
        task = super().get_object(request, *args, **options)
        _add_batches([task] if task else [])
        return task

    @admin.display(description=_("outcome"))
    def outcome(self, task: Task) -> str:
        """Return what the task did, or the message of its error without the traceback."""
        return str(task.result or "-").partition(" : Traceback")[0][:200]

    @admin.display(description=_("batches"))
    def batches(self, task: Task) -> str:
        """Return links to the batches that the task names; "-" for none."""
        links = [
            (reverse("admin:ingestion_batch_change", args=[key]), reference)
            for key, reference in task.named_batches
        ]
        return format_html_join(", ", '<a href="{}">{}</a>', links) or "-"


@admin.register(Success)
class SuccessAdmin(BackgroundTaskAdmin):
    """Shows tasks that were done, with what each shift did."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Success]:
        return super().get_queryset(request).filter(success=True)


@admin.register(Failure)
class FailureAdmin(BackgroundTaskAdmin):
    """Shows tasks that failed, with the complete error."""

    fields = [*BackgroundTaskAdmin.fields, "complete_error"]
    readonly_fields = [*BackgroundTaskAdmin.readonly_fields, "complete_error"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Failure]:
        return super().get_queryset(request).filter(success=False)

    @admin.display(description=_("complete error"))
    def complete_error(self, failure: Failure) -> str:
        """Return the message of the error with its traceback."""
        return format_html("<pre>{}</pre>", failure.result)


def _add_batches(tasks: Sequence[Task]) -> None:
    """Set `named_batches` of each task to (key, reference), with one query for all.

    A task names the batch for which it was woken in its group, and those that it worked on in its
    result: what it did, or the note of its error about the chunks that it had in hand.
    """
    named = {
        task.pk: sorted(set(_REFERENCES.findall(f"{task.group} {task.result}"))) for task in tasks
    }
    references = {reference for each in named.values() for reference in each}
    rows = Batch.objects.filter(reference__in=references).values_list("reference", "pk")
    keys = dict(rows)
    for task in tasks:
        task.named_batches = [(keys[each], each) for each in named[task.pk] if each in keys]
