"""Redacts personal data that was entered by mistake, and records the redaction."""

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
        "Redacts the detail of one entry permanently. A new entry records who did it and why. "
        "Earlier exports still contain the detail."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("seq", type=int, help="number of the entry")
        parser.add_argument("--reason", required=True, help="reason, at least 10 characters")
        parser.add_argument("--by", required=True, metavar="USER", help="user who is responsible")
        parser.add_argument(
            "--dry-run", action="store_true", help="only show what would be redacted"
        )

    def handle(
        self, *args: Any, seq: int, reason: str, by: str, dry_run: bool, **options: Any
    ) -> None:
        person: Any = get_user_model().objects.filter(username=by, is_active=True).first()
        if person is None:
            raise CommandError(f"there is no active user {by!r}")
        if not person.has_perm("audit.redact"):
            raise CommandError(f"{by} does not have the permission audit.redact")
        form = ChangeReasonForm({"reason_for_change": reason})
        if not form.is_valid():
            raise CommandError(form.errors["reason_for_change"].as_text())
        if dry_run:
            has_detail = Entry.objects.filter(pk=seq, detail__isnull=False).exists()
            self.stdout.write(f"Details that would be redacted: {int(has_detail)}.")
            return
        reason = form.cleaned_data["reason_for_change"]
        command = Actor.software("redact", OPERATIONS)
        try:
            redact_entry(seq, reason=reason, by=command, authorised_by=person.actor_name)
        except RedactionError as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            self.stdout.write(f"The detail of entry {seq} was redacted.")
