"""Compares the values of a row before and after a change, field by field, as text.

Everything is text, because the ledger contains no floats and must be readable without our models
(EMA 6.2.1: per field).
"""

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Model

SECRET = "(not shown)"  # noqa: S105 - stands in the place of one
UNTRACKED = ("revision", "last_login", "session_marks")
SECRETS = ("password",)
Values = dict[str, str | list[str] | None]


def read_field_values(obj: Model, untracked: Collection[str] = UNTRACKED) -> Values:
    """Return the values of all fields and many-to-many relations of a saved row, by name."""
    values: Values = {}
    for field in obj._meta.concrete_fields:
        if field.name not in untracked:
            value = field.value_from_object(obj)
            if value is not None and field.is_relation:
                value = f"{getattr(obj, field.name)} ({value})"
            values[field.name] = None if value is None else str(value)
    for relation in obj._meta.many_to_many:
        values[relation.name] = sorted(str(one) for one in getattr(obj, relation.name).all())
    return values


def compare_field_values(
    before: Values, after: Values, secrets: Collection[str] = SECRETS
) -> dict[str, Any]:
    """Return `{field: {"old": .., "new": ..}}` for fields that differ, without secret values."""
    return {
        name: {"old": SECRET, "new": SECRET}
        if name in secrets
        else {"old": before.get(name), "new": after.get(name)}
        for name in before | after
        if before.get(name) != after.get(name)
    }


def inline_changes(formsets: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows that inlines added, removed and changed, by the name of their model."""
    changes = {}
    for formset in formsets:
        edited = [row for row, _names in formset.changed_objects]
        rows = [
            *({"object": str(row), "change": "added"} for row in formset.new_objects),
            *({"object": str(row), "change": "removed"} for row in formset.deleted_objects),
            *(
                _row_changes(form)
                for form in formset.initial_forms
                if any(row is form.instance for row in edited)
            ),
        ]
        if rows:
            changes[formset.model.__name__.lower()] = rows
    return changes


def _row_changes(form: Any) -> dict[str, Any]:
    fields = {
        name: {"old": str(form.initial.get(name)), "new": str(form.cleaned_data[name])}
        for name in form.changed_data
    }
    return {"object": str(form.instance), "change": "changed", "fields": fields}
