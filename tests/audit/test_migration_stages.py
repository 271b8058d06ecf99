"""Tests of the two stages of migrations, which permit upgrades without downtime."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from audit import migration_stages

APP = "tests.audit.upgraded"


@pytest.fixture
def applied_migrations(settings, transactional_db):
    """Install a release with migrations of both stages. Return a function that lists those run."""
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, APP]

    def list_applied():
        rows = MigrationRecorder(connection).applied_migrations()
        return sorted(name for app, name in rows if app == "upgraded")

    yield list_applied
    call_command("migrate", "upgraded", "zero", verbosity=0)


def test_the_first_stage_keeps_what_old_code_needs_and_the_second_removes_it(applied_migrations):
    call_command("migrate", stage="pre", verbosity=0)
    assert applied_migrations() == ["0001_pre_add_shelf"]
    call_command("migrate", stage="pre", verbosity=0)
    assert applied_migrations() == ["0001_pre_add_shelf"]
    call_command("migrate", verbosity=0)
    assert applied_migrations() == ["0001_pre_add_shelf", "0002_post_remove_room"]


def test_the_first_stage_cannot_be_limited_to_one_app(db):
    with pytest.raises(CommandError, match="Omit the name of the app"):
        call_command("migrate", "audit", stage="pre")


def test_the_first_stage_ends_before_the_first_post_migration_of_each_app():
    plan = [
        ("audit", "0009_pre_a"), ("sites", "0010_pre_b"), ("audit", "0010_pre_c"),
        ("audit", "0011_post_d"), ("axes", "0011_anything"),
    ]  # fmt: skip
    assert dict(migration_stages.find_last_before_post(plan)) == {
        "audit": "0010_pre_c",
        "sites": "0010_pre_b",
        "axes": "0011_anything",
    }


def test_no_migration_of_the_first_stage_depends_on_one_of_the_second():
    """All stages belong to the upgrade from 0.1.0. A later release may build on their ends."""
    graph = MigrationLoader(None).graph
    wrong = [
        f"{app}.{name} depends on {ancestor[0]}.{ancestor[1]}"
        for app, name in graph.nodes
        if name[4:].startswith("_pre_")
        for ancestor in graph.forwards_plan((app, name))
        if migration_stages.is_post_migration(ancestor[1])
    ]
    assert not wrong


def test_an_unfinished_upgrade_must_be_finished_first():
    plan = [("audit", "0009_post_a"), ("audit", "0010_pre_b")]
    with pytest.raises(CommandError, match=r"0010_pre_b must run after 0009_post_a"):
        migration_stages.find_last_before_post(plan)


@pytest.mark.parametrize(
    ("name", "is_post"),
    [("0009_post_remove_x", True), ("0009_pre_add_post_code", False), ("0009_a_post_for_x", False)],
)
def test_the_stage_follows_the_number_in_a_name(name, is_post):
    assert migration_stages.is_post_migration(name) is is_post
