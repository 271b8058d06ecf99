"""Django's `migrate`, by the role that owns the tables; then the application gets its rights."""

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections

from audit import roles


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        alias = options["database"]
        with roles.as_owner(alias):
            super().handle(*args, **options)
            is_look = options["plan"] or options["check_unapplied"]
            if settings.DATABASE_OWNER and not is_look:
                roles.grant(connections[alias], roles.application(alias))
