"""What a row says, and what became of it: old and new values, as text, field by field.

All as text: the ledger knows no floats, and reads without our models (EMA 6.2.1: per field).
"""

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Model

SECRET = "(not shown)"  # noqa: S105 - it is what stands in the place of one
UNTRACKED = ("revision", "last_login", "session_marks")
SECRETS = ("password",)
Values = dict[str, str | list[str] | None]


def field_values(obj: Model, untracked: Collection[str] = UNTRACKED) -> Values:
    """All fields and many-to-many relations of a saved row."""
    meta = obj._meta
    values: Values = {
        field.name: _as_text(obj, field)
        for field in meta.concrete_fields
        if field.name not in untracked
    }
    for relation in meta.many_to_many:
        values[relation.name] = sorted(str(one) for one in getattr(obj, relation.name).all())
    return values


def field_differences(
    before: Values, after: Values, secrets: Collection[str] = SECRETS
) -> dict[str, Any]:
    """`{field: {"old": .., "new": ..}}` of those that differ; of secrets, only that they do."""
    return {
        name: {"old": SECRET, "new": SECRET}
        if name in secrets
        else {"old": before.get(name), "new": after.get(name)}
        for name in before | after
        if before.get(name) != after.get(name)
    }


def inline_changes(formsets: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
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


def _as_text(obj: Model, field: Any) -> str | None:
    value = field.value_from_object(obj)
    if value is None:
        return None
    return f"{getattr(obj, field.name)} ({value})" if field.is_relation else str(value)


def _is_edited(formset: Any, form: Any) -> bool:
    return any(row is form.instance for row, _names in formset.changed_objects)


def _row_changes(form: Any) -> dict[str, Any]:
    fields = {
        name: {"old": str(form.initial.get(name)), "new": str(form.cleaned_data[name])}
        for name in form.changed_data
    }
    return {"object": str(form.instance), "change": "changed", "fields": fields}
