"""Grants the application's role its rights.

`migrate` does the same at its end. This command is for restored dumps and manual migrations.
"""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection

from audit.ledger import database_roles


class Command(BaseCommand):
    help = (
        "Grants the application's role the rights to read the ledger and add to it, and to change "
        "all other tables."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Only print the SQL statements.")

    def handle(self, *_args: Any, dry_run: bool, **_options: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("SQLite has no roles. Use PostgreSQL to separate them.")
        if not (settings.DATABASE_OWNER or dry_run):
            raise CommandError(
                "DATABASE_OWNER_URL is not set. Set it, or print the SQL statements with --dry-run."
            )
        role = database_roles.get_application_role(DEFAULT_DB_ALIAS)
        with database_roles.connect_as_owner(DEFAULT_DB_ALIAS):
            if dry_run:
                self.stdout.write(
                    ";\n".join([*database_roles.grant_statements(connection, role), ""])
                )
                return
            try:
                database_roles.grant_rights(connection, role)
            except ProgrammingError as error:
                raise CommandError(
                    f"The rights could not be granted: {str(error).strip()}"
                ) from error
        self.stdout.write(f"{role} may read the ledger and add to it, and change all other tables.")
