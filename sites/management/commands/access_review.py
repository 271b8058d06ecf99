"""Write the list for the periodic review of accounts (ICH E6(R3) 4.3.8(b); R22)."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from sites.accounts import access_review


class Command(BaseCommand):
    help = "Writes every active account as CSV: roles, who gave them and when, sites, sign-ins."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(access_review.format_csv(access_review.list_accounts()), ending="")
        due = access_review.compute_due_date()
        if due and timezone.now().date() > due:
            self.stderr.write(f"A review is overdue since {due}. Sign it at /access/.")
