"""Shows the outbox, and retries messages that were given up.

Exit code 1 if a message to retry was not given up, else 0.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count, QuerySet

from audit import outbox
from audit.outbox import OutboxMessage


class Command(BaseCommand):
    help = "Shows messages that wait and messages that were given up, and retries the latter."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--retry", nargs="+", type=int, metavar="NUMBER", help="retry these messages"
        )
        parser.add_argument("--retry-kind", metavar="KIND", help="retry all messages of a kind")

    def handle(self, *_args: Any, **options: Any) -> None:
        given_up = OutboxMessage.objects.filter(state=OutboxMessage.State.DEAD)
        if numbers := options["retry"]:
            messages = given_up.filter(pk__in=numbers)
            if missing := sorted(set(numbers) - set(messages.values_list("pk", flat=True))):
                raise CommandError(f"Not given up: {', '.join(map(str, missing))}.")
            self._retry(messages)
        elif kind := options["retry_kind"]:
            messages = given_up.filter(kind=kind)
            if not messages.exists():
                raise CommandError(f"No message of the kind {kind} was given up.")
            self._retry(messages)
        else:
            self._show(given_up)

    def _retry(self, messages: QuerySet[OutboxMessage]) -> None:
        count = outbox.retry_dead(messages)
        self.stdout.write(f"{count} message{' waits' if count == 1 else 's wait'} again.")

    def _show(self, given_up: QuerySet[OutboxMessage]) -> None:
        """Print the number of messages by kind and state, and each message that was given up."""
        rows = OutboxMessage.objects.order_by("kind").values_list("kind", "state")
        counts: dict[str, dict[str, int]] = {}
        for kind, state, number in rows.annotate(Count("pk")):
            counts.setdefault(kind, {})[state] = number
        for kind, by_state in counts.items():
            parts = [
                f"{by_state.get(state.value, 0)} {state.label}" for state in OutboxMessage.State
            ]
            self.stdout.write(f"{kind}: {', '.join(parts)}")
        self.stdout.write(f"{given_up.count()} messages given up.")
        for message in given_up:
            created_at = f"{message.created_at:%Y-%m-%d %H:%M} UTC"
            self.stdout.write(
                f"{message.pk} {message.kind}, written {created_at}, {message.attempts} attempts. "
                f"{message.error}"
            )
