"""Print a one-time link for a new password, for installations or people without email.

The link is recorded with the user of the operating system. The person cannot sign until an
administrator has verified the identity.
"""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from sites import account_changes, approvals, password_links
from sites.accounts import identity, password_changes
from sites.accounts.identity import Cause
from sites.models import User


class Command(BaseCommand):
    help = "Prints a one-time link for a new password. The person cannot sign until verified."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("user", help="a user name")

    def handle(self, *args: Any, user: str, **options: Any) -> None:
        person = User.objects.filter(username=user).first()
        if person is None:
            raise CommandError(f"There is no user {user!r}. Enter an existing user name.")
        if not (person.is_active and person.has_access()):
            raise CommandError(f"The account {user!r} is not open. Open it in the admin first.")
        with account_changes.record_changes(person):
            password_changes.issue_link(person)
            person.save(update_fields=["link_issued_at", "signing_suspended_at"])
            identity.request_verification(person, Cause.PASSWORD, by=None)
            identity.notify_person(person, Cause.PASSWORD, by=approvals.get_command_name())
        if not settings.SITE_URL:
            self.stderr.write("SITE_URL is not set: put the address of SiteLedger before the path.")
        self.stdout.write(password_links.make_link_address(person))
        self.stderr.write(
            f"The link works once, for {settings.ACCOUNT_LINK_HOURS} hours. {person} cannot sign "
            "until an administrator has verified the identity (/approvals/)."
        )
