"""Names of migrations state whether they run before or after the new code, and this is checked."""

import re

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from audit import migration_stages
from tests.config.old_code import stumbles

# Of each app the last migration from before the rule: there was nothing yet to be upgraded.
BEFORE_THE_RULE = {"audit": "0008", "clinical_sites": "0010", "ingestion": "0015"}
NAME = re.compile(r"\d{4}_(pre|post)_[a-z0-9_]+").fullmatch


@pytest.fixture(scope="module")
def loader():
    return MigrationLoader(None)


def bound(loader):
    """Return the migrations since the rule exists, by app and name."""
    return {
        (app, name): migration
        for (app, name), migration in sorted(loader.disk_migrations.items())
        if app in BEFORE_THE_RULE and name[:4] > BEFORE_THE_RULE[app]
    }


def test_every_migration_is_named_after_its_stage(loader):
    unnamed = [f"{app}.{name}" for app, name in bound(loader) if not NAME(name)]
    assert not unnamed, "name it 0015_pre_... or 0015_post_... (docs/upgrading.md)"


def test_old_code_works_after_every_migration_that_runs_before_its_replacement(loader):
    for (app, name), migration in bound(loader).items():
        if not migration_stages.is_post_migration(name):
            before = loader.project_state((app, name), at_end=False)
            assert not stumbles(migration, before), f"{app}.{name} has to be post"


def test_no_early_migration_depends_on_a_late_one(loader):
    for (app, name), migration in bound(loader).items():
        if not migration_stages.is_post_migration(name):
            waits_for = [
                need
                for need in migration.dependencies
                if migration_stages.is_post_migration(need[1])
            ]
            assert all(need[0] == app for need in waits_for), f"{app}.{name}"


@pytest.fixture
def shelves():
    state = ProjectState()
    columns = [
        ("id", models.BigAutoField(primary_key=True)),
        ("room", models.CharField(max_length=20, null=True)),
    ]
    operation = migrations.CreateModel("Shelf", columns)
    operation.state_forwards("library", state)
    return state


def judged(state, *operations):
    migration = migrations.Migration("0002_pre_x", "library")
    migration.operations = list(operations)
    return stumbles(migration, state)


LONGER, SHORTER = models.CharField(max_length=30, null=True), models.CharField(max_length=9)


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("shelf", "room"),
        migrations.RenameField("shelf", "room", "place"),
        migrations.RenameModel("Shelf", "Rack"),
        migrations.DeleteModel("Shelf"),
        migrations.AlterModelTable("Shelf", "racks"),
        migrations.AddField("shelf", "depth", models.IntegerField(default=1)),
        migrations.AlterField("shelf", "room", SHORTER),
        migrations.AlterField("shelf", "room", models.CharField(max_length=20)),
        migrations.AlterField("shelf", "room", models.IntegerField(null=True)),
    ],
    ids=[
        "removed",
        "renamed",
        "table renamed by its model",
        "table removed",
        "table renamed",
        "added and required",
        "shorter",
        "no longer empty",
        "of another type",
    ],
)
def test_operations_that_break_old_code_are_found(shelves, operation):
    assert judged(shelves, operation)


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("shelf", "depth", models.IntegerField(db_default=1)),
        migrations.AddField("shelf", "depth", models.IntegerField(null=True)),
        migrations.AddIndex("shelf", models.Index(fields=["room"], name="by_room")),
        migrations.AlterField("shelf", "room", LONGER),
    ],
    ids=["with a default of the database", "may be empty", "an index", "longer"],
)
def test_operations_that_only_add_are_permitted(shelves, operation):
    assert not judged(shelves, operation)


def test_operations_on_a_new_table_do_not_affect_old_code(shelves):
    table = migrations.CreateModel("Label", [("id", models.BigAutoField(primary_key=True))])
    column = migrations.AddField("label", "text", models.TextField(default=""))
    assert not judged(shelves, table, column)


def test_old_code_can_write_to_a_table_with_an_additional_column(shelves, transactional_db):
    """`db_default` lets the database fill in columns that old code does not know."""
    new = migrations.AddField("shelf", "depth", models.IntegerField(db_default=1))
    with connection.schema_editor() as editor:
        old = shelves.apps.get_model("library", "Shelf")
        editor.create_model(old)
    try:
        after = shelves.clone()
        new.state_forwards("library", after)
        with connection.schema_editor() as editor:
            new.database_forwards("library", editor, shelves, after)
        old.objects.create(room="2.01")
        assert after.apps.get_model("library", "Shelf").objects.get().depth == 1
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(old)
