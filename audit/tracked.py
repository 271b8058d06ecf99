"""Admin changes on record: a ModelAdmin mixin whose every change is an entry.

An entry says who did it and to what; the old and the new value of each field
are in its detail (21 CFR 11.10(e), and EMA's per-field capture). The model has
an integer `revision`, the number of its last entry: 0 when it is added.
Subjects are `site:3`, events `site.created`, `site.changed`, `site.deleted`.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from django.contrib.admin import ModelAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from audit.log import ledger, record

SECRET = "(not shown)"  # noqa: S105 - it is what stands in the place of one
_READING = ("GET", "HEAD", "OPTIONS", "TRACE")
_Values = dict[str, str | list[str] | None]

if TYPE_CHECKING:
    _Base = ModelAdmin[Any]  # generic for mypy alone
else:
    _Base = ModelAdmin


class LedgerAdminMixin(_Base):
    """Comes first among the bases. Changes outside the admin's own views call `record_change`."""

    untracked_fields = ("revision", "last_login")
    secret_fields = ("password",)

    def ledger_site(self, obj: Any) -> str:
        """The site number that the entry is filed under; override where there is one."""
        return ""

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        return self._on_record(request, super().add_view, *args, **options)

    def change_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        return self._on_record(request, super().change_view, *args, **options)

    def delete_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        return self._on_record(request, super().delete_view, *args, **options)

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        return self._on_record(request, super().changelist_view, *args, **options)

    def _on_record(
        self, request: HttpRequest, view: Callable[..., HttpResponse], *args: Any, **options: Any
    ) -> HttpResponse:
        reading = request.method in _READING
        around: AbstractContextManager[None] = nullcontext() if reading else ledger()
        with around:
            return view(request, *args, **options)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        before = {}
        if change:
            # Locked and read anew: the form may be older than the row.
            row = self._locked(obj)
            before, obj.revision = self._values(row), row.revision
        vars(form)["values_before"] = before
        super().save_model(request, obj, form, change)

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Iterable[Any], change: bool
    ) -> None:
        formsets = list(formsets)
        super().save_related(request, form, formsets, change)
        # Fields, many-to-many relations and inlines are all saved now.
        changes = self._differences(form.values_before, self._values(self._locked(form.instance)))
        changes |= _inline_changes(formsets)
        if change and changes:
            self.record_change(request, form.instance, changes)
        elif not change:
            self._record(request, form.instance, "created", form.instance.revision, changes)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        gone = self._differences(self._values(obj), {})
        self._record(request, obj, "deleted", self._locked(obj).revision + 1, gone)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for obj in queryset:
            self.delete_model(request, obj)

    def record_change(self, request: HttpRequest, obj: Any, changes: Mapping[str, Any]) -> None:
        """Enter a change that is made: `{field: {"old": .., "new": ..}}`. Inside ledger()."""
        obj.revision = self._locked(obj).revision + 1
        obj.save(update_fields=["revision"])
        self._record(request, obj, "changed", obj.revision, changes)

    def _record(
        self, request: HttpRequest, obj: Any, verb: str, n: int, changes: Mapping[str, Any]
    ) -> None:
        person: Any = request.user
        kind = self.opts.model_name
        record(
            f"{kind}.{verb}",
            subject=f"{kind}:{obj.pk}",
            n=n,
            site=self.ledger_site(obj),
            actor=person.actor,
            role=person.role,
            detail={
                "object": str(obj),
                "changes": dict(changes),
                "printed_name": str(person),
                "address": request.META.get("REMOTE_ADDR", ""),
            },
        )

    def _locked(self, obj: Model) -> Any:
        every = self.model._base_manager  # noqa: SLF001 - documented; the admin may show fewer
        return every.select_for_update().get(pk=obj.pk)

    def _values(self, obj: Model) -> _Values:
        """All fields as text: the ledger knows no floats, and reads without our models."""
        values: _Values = {
            field.name: _as_text(obj, field)
            for field in self.opts.concrete_fields
            if field.name not in self.untracked_fields
        }
        for relation in self.opts.many_to_many:
            values[relation.name] = sorted(str(one) for one in getattr(obj, relation.name).all())
        return values

    def _differences(self, before: _Values, after: _Values) -> dict[str, Any]:
        return {
            name: {"old": SECRET, "new": SECRET}
            if name in self.secret_fields
            else {"old": before.get(name), "new": after.get(name)}
            for name in before | after
            if before.get(name) != after.get(name)
        }


def _as_text(obj: Model, field: Any) -> str | None:
    value = field.value_from_object(obj)
    if value is None:
        return None
    return f"{getattr(obj, field.name)} ({value})" if field.is_relation else str(value)


def _inline_changes(formsets: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    """What inlines added, removed and changed, by the name of their model."""
    changes = {
        formset.model.__name__.lower(): [
            *({"object": str(row), "change": "added"} for row in formset.new_objects),
            *({"object": str(row), "change": "removed"} for row in formset.deleted_objects),
            *(_row_changes(form) for form in formset.initial_forms if _is_edited(formset, form)),
        ]
        for formset in formsets
    }
    return {name: rows for name, rows in changes.items() if rows}


def _is_edited(formset: Any, form: Any) -> bool:
    return any(row is form.instance for row, _names in formset.changed_objects)


def _row_changes(form: Any) -> dict[str, Any]:
    fields = {
        name: {"old": str(form.initial.get(name)), "new": str(form.cleaned_data[name])}
        for name in form.changed_data
    }
    return {"object": str(form.instance), "change": "changed", "fields": fields}
