"""Finds operations of migrations that break the code of the previous release.

Data migrations (RunPython, RunSQL) and constraints are not checked: their authors have to.
"""

from django.db.migrations import operations
from django.db.models import NOT_PROVIDED

GOES = (
    operations.DeleteModel,
    operations.RenameModel,
    operations.RemoveField,
    operations.RenameField,
    operations.AlterModelTable,
    operations.AlterUniqueTogether,
)


def stumbles(migration, before):
    """Yield a sentence for each such operation. `before` is the state, which is updated."""
    made, faults = set(), []
    for operation in migration.operations:
        after = before.clone()
        operation.state_forwards(migration.app_label, after)
        if isinstance(operation, operations.CreateModel):
            made.add(operation.name_lower)
        elif getattr(operation, "model_name_lower", "") not in made:
            faults += _faults(operation, migration.app_label, before, after)
        before = after
    return faults


def _faults(operation, app, before, after):
    what = operation.describe()
    if isinstance(operation, GOES):
        yield f"{what}: old code still asks for it"
    elif isinstance(operation, operations.AddField) and _must_be_given(operation.field):
        yield f"{what}: old code writes rows without it; give it a db_default, or let it be null"
    elif isinstance(operation, operations.AlterField):
        old, new = (_field(operation, app, state) for state in (before, after))
        if _is_narrower(old, new):
            yield f"{what}: what old code writes may not fit"


def _must_be_given(field):
    is_column = not field.many_to_many
    return is_column and not field.null and field.db_default is NOT_PROVIDED


def _field(operation, app, state):
    return state.models[app, operation.model_name_lower].fields[operation.name]


def _is_narrower(old, new):
    longest = [field.max_length or float("inf") for field in (old, new)]
    return (
        (old.null and not new.null)
        or (new.unique and not old.unique)
        or longest[1] < longest[0]
        or old.get_internal_type() != new.get_internal_type()
    )
