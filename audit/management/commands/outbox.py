"""Shows the outbox, and retries messages that were given up.

Exit codes: 0, or 1 if there was nothing to retry.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

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
        dead = OutboxMessage.objects.filter(state=OutboxMessage.State.DEAD)
        if numbers := options["retry"]:
            chosen = dead.filter(pk__in=numbers)
            if missing := sorted(set(numbers) - set(chosen.values_list("pk", flat=True))):
                raise CommandError(f"Not given up: {', '.join(map(str, missing))}.")
            self._retry(chosen)
        elif kind := options["retry_kind"]:
            if not dead.filter(kind=kind).exists():
                raise CommandError(f"No message of the kind {kind} was given up.")
            self._retry(dead.filter(kind=kind))
        else:
            self._show(dead)

    def _retry(self, chosen: Any) -> None:
        count = outbox.retry_dead(chosen)
        self.stdout.write(f"{count} message{' waits' if count == 1 else 's wait'} again.")

    def _show(self, dead: Any) -> None:
        rows = OutboxMessage.objects.order_by("kind").values_list("kind", "state")
        counts: dict[str, dict[str, int]] = {}
        for kind, state, number in rows.annotate(Count("pk")):
            counts.setdefault(kind, {})[state] = number
        for kind, by_state in counts.items():
            parts = [
                f"{by_state.get(state.value, 0)} {state.label}" for state in OutboxMessage.State
            ]
            self.stdout.write(f"{kind}: {', '.join(parts)}")
        self.stdout.write(f"{dead.count()} messages given up.")
        for message in dead:
            written = f"{message.created_at:%Y-%m-%d %H:%M} UTC"
            self.stdout.write(
                f"{message.pk} {message.kind}, written {written}, {message.attempts} attempts. "
                f"{message.error}"
            )
