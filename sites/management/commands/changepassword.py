"""Django's command, on record: that a password was changed, never which."""

from getpass import getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from sites import accounts
from sites.models import User

TRIES = 3


class Command(changepassword.Command):
    help = "Changes a person's password. That it was done is an entry in the ledger."

    def handle(self, *args: Any, **options: Any) -> str:
        username = options["username"]
        person = User.objects.filter(username=username).first()
        if person is None:
            raise CommandError(f"there is no user {username!r}: name one")
        password = self._agreed(person)
        with accounts.on_record(person):
            accounts.give_password(person, password)
        return f"The password of {person} is changed. They choose their own when they sign in."

    def _agreed(self, person: User) -> str:
        """Asked for twice, outside any transaction: people take their time."""
        for _ in range(TRIES):
            first, second = getpass("Password: "), getpass("Password (again): ")
            if first != second:
                self.stderr.write("They differ. Once more.")
                continue
            try:
                validate_password(first, person)
            except ValidationError as error:
                self.stderr.write("\n".join(error.messages))
            else:
                return first
        raise CommandError(f"nothing was changed after {TRIES} attempts")
