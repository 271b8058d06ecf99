"""Create demo users for each role with a public password, for `make run` and the tour.

The command refuses to run if DEBUG is off, so that it cannot give access to a real system. It is
idempotent: if you run it again, it restores the passwords, roles and sites defined here.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit.ledger.log import ledger
from ingestion import roles
from sites import account_changes
from sites.models import Membership, Site, User
from sites.roles import (
    AUDITORS,
    OPERATORS,
    QA_LEADS,
    QA_REVIEWERS,
    REGULATORY_AFFAIRS,
)

AUDITOR_ACCESS = timedelta(days=90)
PASSWORD = "try-siteledger"  # noqa: S105 - public on purpose, and refused outside DEBUG


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """Describes a person of the demo, with a role and with the sites that they can see."""

    username: str
    printed_name: str
    group: str = ""  # of ingestion.roles; "" for coordinators and the administrator
    sites: int = 0  # the number of sites, counted from the first one
    is_superuser: bool = False

    @property
    def role(self) -> str:
        """Return the name of the role, for the table that the command prints."""
        if self.is_superuser:
            return "Administrator"
        return self.group or "Site coordinator"


PEOPLE = (
    DemoPerson("mara", "Mara Lindqvist", sites=1),
    DemoPerson("jonas", "Jonas Weber", sites=3),
    DemoPerson("ines", "Ines Okafor", group=QA_REVIEWERS),
    DemoPerson("helena", "Helena Vogt", group=QA_LEADS),
    DemoPerson("rafael", "Rafael Duarte", group=REGULATORY_AFFAIRS),
    DemoPerson("olu", "Olu Adeyemi", group=OPERATORS),
    DemoPerson("vera", "Vera Novak", group=AUDITORS),
    DemoPerson("admin", "Ada Hartmann", is_superuser=True),
    DemoPerson("noor", "Noor Haddad", is_superuser=True),
)


class Command(BaseCommand):
    help = "Creates a demo user for each role, and prints how to sign in. Needs DEBUG."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("Demo users have public passwords. Create them only if DEBUG is on.")
        sites = list(Site.objects.order_by("site_id")[: max(person.sites for person in PEOPLE)])
        with ledger():
            roles.install()
            rows = [self._save(person, sites[: person.sites]) for person in PEOPLE]
        table = [("user name", "password", "role", "sites"), *rows]
        widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
        for row in table:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(cells).rstrip())
        if not sites:
            self.stdout.write("There are no sites yet. Load sites, then run this command again.")

    def _save(self, person: DemoPerson, sites: list[Site]) -> tuple[str, ...]:
        """Create or restore a demo user, and return their line of the printed table."""
        now = timezone.now()
        user = User.objects.filter(username=person.username).first()
        user = user or User(username=person.username)
        with account_changes.record_changes(user):
            user.printed_name = person.printed_name
            user.is_staff = bool(person.group) or person.is_superuser
            user.is_superuser = person.is_superuser
            if not user.check_password(PASSWORD):
                user.set_password(PASSWORD)
            # Everything that is needed before the person can upload or sign.
            user.training_acknowledged_at = user.training_acknowledged_at or now
            user.policy_acknowledged_at = user.policy_acknowledged_at or now
            user.identity_verified_at = user.identity_verified_at or now
            user.identity_evidence = "Demo user, not a real person."
            user.password_changed_at = user.password_changed_at or now
            if person.group == AUDITORS:
                user.access_until = user.access_until or now.date() + AUDITOR_ACCESS
            user.save()
            user.groups.set(Group.objects.filter(name=person.group))
            for site in sites:
                Membership.objects.get_or_create(user=user, site=site)
        numbers = ", ".join(site.site_id for site in sites)
        return (
            person.username,
            PASSWORD,
            person.role,
            numbers or ("all" if user.is_staff else "none"),
        )
