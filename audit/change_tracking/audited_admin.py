"""Defines a ModelAdmin mixin that records every change in the ledger, with its reason.

An entry states who changed which row. The old and the new value of each field are in its detail (21
CFR 11.10(e), and EMA's guideline: per field). The model must be an
`audit.ledger.recorded_row.RecordedRow`. Subjects are `site:3`, events are `site.created`,
`site.changed` and `site.deleted`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.contrib.admin.utils import flatten_fieldsets
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from audit.change_tracking import form_errors
from audit.change_tracking.change_reasons import (
    MIN_REASON_CHARACTERS,
    REASON_FIELD,
    ChangeReasonForm,
    ReasonedActions,
    add_reason_field,
    drop_confirmation,
)
from audit.change_tracking.field_changes import (
    SECRETS,
    UNTRACKED,
    Values,
    compare_field_values,
    inline_changes,
    read_field_values,
)
from audit.ledger.context import use_change_reason
from audit.ledger.log import ledger

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")  # RFC 9110, section 9.2.1


class LedgerAdminMixin(ReasonedActions):
    """Records the changes of a ModelAdmin. It must be the first base.

    Code that changes rows outside of the admin's own views calls `record_change`.
    """

    untracked_fields: tuple[str, ...] = UNTRACKED
    secret_fields = SECRETS
    reason_field = REASON_FIELD  # or a field of the model that contains the reason

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        return self.run_in_ledger(request, super().add_view, *args, **options)

    def change_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        return self.run_in_ledger(request, super().change_view, *args, **options)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Delete a row with a reason, and record the deletion. Without a reason, ask again."""
        form = ChangeReasonForm(request.POST or None)
        context = {**(extra_context or {}), "reason_form": form}
        if form.is_bound and not form.is_valid():
            request = drop_confirmation(request)
        return self.run_in_ledger(request, super().delete_view, object_id, context)

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        return self.run_in_ledger(request, super().changelist_view, *args, **options)

    def run_in_ledger(
        self, request: HttpRequest, view: Callable[..., HttpResponse], *args: Any, **options: Any
    ) -> HttpResponse:
        """Run a view with its changes and their entries in one transaction."""
        if request.method in _SAFE_METHODS:
            return view(request, *args, **options)
        with ledger(), use_change_reason(request.POST.get(self.reason_field, "")):
            response = view(request, *args, **options)
        self._record_form_errors(request, response)
        return response

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add a field for the reason, if a row can be changed and no field of the model has it."""
        fieldsets = super().get_fieldsets(request, obj)
        if (
            obj is None
            or self.reason_field != REASON_FIELD
            or not self.has_change_permission(request, obj)
        ):
            return fieldsets
        if not set(flatten_fieldsets(fieldsets)) - set(self.get_readonly_fields(request, obj)):
            return fieldsets
        return [*fieldsets, (_("Reason"), {"fields": [REASON_FIELD]})]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any
    ) -> Any:
        """Return the form with a field for the reason, which the model does not have."""
        # Django passes the fields of the fieldsets, and the model has no field for the reason.
        fields = options.get("fields") or ()
        if REASON_FIELD not in fields:
            return super().get_form(request, obj, change=change, **options)
        options["fields"] = [name for name in fields if name != REASON_FIELD]
        return add_reason_field(super().get_form(request, obj, change=change, **options))

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        if db_field.name == self.reason_field:
            options["min_length"] = MIN_REASON_CHARACTERS
        return super().formfield_for_dbfield(db_field, request, **options)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the row. Its values before the change are read from the locked row."""
        before = {}
        if change:
            # The row is locked and read again, because the form may be older than the row.
            row = obj.lock(obj.pk)
            before, obj.revision = self._values(row), row.revision
        form.values_before = before  # Django passes the same form to `save_related`.
        super().save_model(request, obj, form, change)

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Iterable[Any], change: bool
    ) -> None:
        """Save the related rows, and record what has changed in the row and in its inlines."""
        formsets = list(formsets)
        super().save_related(request, form, formsets, change)
        # All fields, many-to-many relations and inlines are saved now.
        row = form.instance.lock(form.instance.pk)
        changes = self._differences(form.values_before, self._values(row))
        changes |= inline_changes(formsets)
        if change and changes:
            self.record_change(request, form.instance, changes)
        elif not change:
            self._record(request, form.instance, "created", changes)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Record the values of the row, and delete it."""
        values = self._differences(self._values(obj), {})
        self._record(request, obj, "deleted", values)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for obj in queryset:
            self.delete_model(request, obj)

    def record_change(self, request: HttpRequest, obj: Any, changes: Mapping[str, Any]) -> None:
        """Record a change that is saved: `{field: {"old": .., "new": ..}}`. Inside ledger()."""
        self._record(request, obj, "changed", changes)

    def _record(
        self, request: HttpRequest, obj: Any, verb: str, changes: Mapping[str, Any]
    ) -> None:
        person: Any = request.user
        record = obj.record_at_revision if verb == "created" else obj.record
        record(
            f"{self.opts.model_name}.{verb}",
            by=person.actor,
            site=self.ledger_site(obj),
            detail={"object": str(obj), "changes": dict(changes)},
        )

    def _record_form_errors(self, request: HttpRequest, response: HttpResponse) -> None:
        """Record which fields were wrong if the response shows the form again (R08)."""
        context = getattr(response, "context_data", None) or {}
        form = context["adminform"].form if "adminform" in context else context.get("form")
        if not (isinstance(form, BaseForm) and form.errors):
            return
        person: Any = request.user
        form_errors.record_form_errors(
            str(self.opts.model_name),
            codes=form_errors.list_error_codes(form),
            values=form_errors.list_rejected_values(form),
            by=person.actor,
            site=self.ledger_site(context["original"]) if context.get("original") else "",
        )

    def _values(self, obj: Model) -> Values:
        return read_field_values(obj, self.untracked_fields)

    def _differences(self, before: Values, after: Values) -> dict[str, Any]:
        return compare_field_values(before, after, self.secret_fields)
