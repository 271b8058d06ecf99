"""Replaces Django's command of this name, because nobody sets the password of another person."""

from typing import Any, NoReturn

from django.contrib.auth.management.commands import changepassword
from django.core.management.base import CommandError


class Command(changepassword.Command):
    help = "Refused. `manage.py account_link USER` prints a link for a new password."

    def handle(self, *args: Any, **options: Any) -> NoReturn:
        raise CommandError(
            "Nothing was changed. Each person chooses their own password: print a link with "
            f"`manage.py account_link {options['username']}`, and give it to them."
        )
