"""For whoever restored a dump or migrates by hand; `migrate` does the same at its end."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection

from audit.ledger import database_roles


class Command(BaseCommand):
    help = "Lets the application's role read the ledger and add to it, and change all other tables."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Print the SQL, for a DBA.")

    def handle(self, *_args: Any, dry_run: bool, **_options: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("SQLite has no roles: whoever can write the file can change it.")
        if not (settings.DATABASE_OWNER or dry_run):
            raise CommandError(
                "DATABASE_OWNER_URL is not set. With --dry-run the SQL is printed, for a DBA."
            )
        role = database_roles.application_role(DEFAULT_DB_ALIAS)
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
                    f"The rights could not be given: {str(error).strip()}"
                ) from error
        self.stdout.write(f"{role} may read the ledger and add to it, and change all other tables.")
