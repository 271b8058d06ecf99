"""Signs and anchors a checkpoint immediately. Cron runs it on machines without worker hosts.

Exit codes: 0 if the checkpoint was signed and anchored; 1 if not, with the reason.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.chain import BrokenChain
from audit.signing import anchors, checkpoints
from audit.signing.keys import KeyProblem


class Command(BaseCommand):
    help = "Signs all entries and anchors all new checkpoints. Prints size, head and root."

    def handle(self, *_args: Any, **_options: Any) -> None:
        try:
            checkpoints.sign_all()
        except (KeyProblem, BrokenChain) as error:
            raise CommandError(f"Nothing was signed: {error}") from error
        last = checkpoints.get_latest_checkpoint()
        if last is None:
            self.stderr.write("There are no entries yet.")
            return
        self.stdout.write(f"{last.size} {last.head} {last.root}")
        if problems := anchors.anchor_all():
            raise CommandError(f"Signed, but not anchored everywhere: {' '.join(problems)}")
