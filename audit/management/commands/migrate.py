"""Runs Django's `migrate` as the owner of the tables, and grants the application its rights."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from audit import migration_stages
from audit.ledger import database_roles


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--stage",
            choices=["pre", "all"],
            default="all",
            help="pre: run only the migrations that the running code supports, before an upgrade. "
            "all: run all migrations, after it (docs/upgrading.md).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        alias, stage = options["database"], options.pop("stage")
        if stage == "pre" and options["app_label"]:
            raise CommandError("--stage pre is for all apps. Omit the name of the app.")
        with database_roles.connect_as_owner(alias):
            for target in _before_post(alias) if stage == "pre" else [{}]:
                super().handle(*args, **options | target)
            is_dry_run = options["plan"] or options["check_unapplied"]
            if settings.DATABASE_OWNER and not is_dry_run:
                database_roles.grant_rights(
                    connections[alias], database_roles.get_application_role(alias)
                )


def _before_post(alias: str) -> list[dict[str, str]]:
    """Return the options of each call of Django's command that stays before `post` migrations.

    Without `post` migrations it is one call without options, which runs all migrations.
    """
    executor = MigrationExecutor(connections[alias])
    graph = executor.loader.graph
    plan = executor.migration_plan(graph.leaf_nodes())
    steps = [(migration.app_label, migration.name) for migration, _ in plan]
    post = {step for step in steps if migration_stages.is_post_migration(step[1])}
    if not post:
        return [{}]
    # The plan may have a `post` migration before others that do not depend on it.
    steps.sort(key=lambda step: not post.isdisjoint(graph.forwards_plan(step)))
    last = migration_stages.find_last_before_post(steps)
    return [{"app_label": app, "migration_name": name} for app, name in last]
