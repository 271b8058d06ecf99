"""Demo users for each role, with a password that everybody knows. For `make run` and the tour.

Refuses where DEBUG is off, so that it can never open a real system. Idempotent:
run again, it puts passwords, roles and sites back as they stand here.
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

AUDIT = timedelta(days=90)  # how long the demo's auditor has access
PASSWORD = "try-siteledger"  # noqa: S105 - known on purpose, and refused outside DEBUG


@dataclass(frozen=True, slots=True)
class DemoPerson:
    username: str
    printed_name: str
    group: str = ""  # of ingestion.roles; "" for coordinators and the administrator
    sites: int = 0  # how many of all sites, by number
    is_superuser: bool = False

    @property
    def role(self) -> str:
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


def _make_fit(user: User) -> None:
    """Trained, verified, with the policy read: so that the tour can begin at once."""
    now = timezone.now()
    user.training_acknowledged_at = user.training_acknowledged_at or now
    user.policy_acknowledged_at = user.policy_acknowledged_at or now
    user.identity_verified_at = user.identity_verified_at or now
    user.identity_evidence = "A demo user: nobody."
    user.password_changed_at = user.password_changed_at or now


class Command(BaseCommand):
    help = "Creates a demo user for each role, and prints how to sign in. Only where DEBUG is on."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("demo users have known passwords: they are made where DEBUG is on")
        sites = list(Site.objects.order_by("site_id")[: max(person.sites for person in PEOPLE)])
        with ledger():
            roles.install()
            rows = [self._row(person, sites[: person.sites]) for person in PEOPLE]
        self._print([("user name", "password", "role", "sites"), *rows])
        if not sites:
            self.stdout.write("There are no sites yet: load some, then run this again.")

    def _row(self, person: DemoPerson, sites: list[Site]) -> tuple[str, ...]:
        user = User.objects.filter(username=person.username).first()
        user = user or User(username=person.username)
        with account_changes.on_record(user):
            user.printed_name = person.printed_name
            user.is_staff = bool(person.group) or person.is_superuser
            user.is_superuser = person.is_superuser
            if not user.check_password(PASSWORD):
                user.set_password(PASSWORD)
            _make_fit(user)
            if person.group == AUDITORS:
                user.access_until = user.access_until or timezone.now().date() + AUDIT
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

    def _print(self, rows: list[tuple[str, ...]]) -> None:
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(cells).rstrip())
