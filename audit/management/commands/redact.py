"""Personal data that was entered by mistake leaves the ledger here, on record, and only so."""

import argparse
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from audit.change_tracking.change_reasons import ChangeReasonForm
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.redaction import RedactionError, redact_entry
from audit.models import Entry


class Command(BaseCommand):
    help = (
        "Takes out the detail of one entry for good; that it was done, why and by whom is a new "
        "entry. Copies that were exported before still have it."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("seq", type=int, help="the entry's number")
        parser.add_argument("--reason", required=True, help="why, in at least 10 characters")
        parser.add_argument("--by", required=True, metavar="USER", help="who answers for it")
        parser.add_argument("--dry-run", action="store_true", help="say what would go")

    def handle(
        self, *args: Any, seq: int, reason: str, by: str, dry_run: bool, **options: Any
    ) -> None:
        person = _who_may(by)
        form = ChangeReasonForm({"reason_for_change": reason})
        if not form.is_valid():
            raise CommandError(form.errors["reason_for_change"].as_text())
        if dry_run:
            there = Entry.objects.filter(pk=seq, detail__isnull=False).exists()
            self.stdout.write(f"The detail of {int(there)} entries would be taken out.")
            return
        reason = form.cleaned_data["reason_for_change"]
        command = Actor.software("redact", OPERATIONS)
        try:
            redact_entry(seq, reason=reason, by=command, authorised_by=person.actor_name)
        except RedactionError as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            self.stdout.write(f"The detail of entry {seq} is taken out.")


def _who_may(username: str) -> Any:
    person: Any = get_user_model().objects.filter(username=username, is_active=True).first()
    if person is None:
        raise CommandError(f"there is no active user {username!r}")
    if not person.has_perm("audit.redact"):
        raise CommandError(f"{username} has not the permission audit.redact")
    return person
