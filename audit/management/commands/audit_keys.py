"""The key that signs checkpoints: made once, shown to whoever verifies, replaced on record."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.chain import BrokenChain
from audit.signing import (
    anchors,
    checkpoints,
    key_rotation,
    keys,
)
from audit.signing.keys import KeyProblem
from audit.signing.signed_note import Verifier

ACTOR = Actor.software("audit_keys", OPERATIONS)


class Command(BaseCommand):
    help = (
        "create: the first key, in AUDIT_KEY_FILE. show: all public keys. rotate: a new key takes "
        "over, vouched for by the old one, which is then removed from this host."
    )
    # A key that others can read is what this command is there for.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["create", "show", "rotate"])
        parser.add_argument(
            "--lost",
            action="store_true",
            help="create: although there was a key. No older key vouches for the new one.",
        )

    def handle(self, *_args: Any, action: str, lost: bool, **_options: Any) -> None:
        actions: Mapping[str, Callable[[], None]] = {
            "create": lambda: self._create(is_lost=lost),
            "show": self._show,
            "rotate": self._rotate,
        }
        try:
            actions[action]()
        except (KeyProblem, BrokenChain) as error:
            raise CommandError(str(error)) from error

    def _create(self, *, is_lost: bool) -> None:
        verifier = key_rotation.create_key(by=ACTOR, is_lost=is_lost)
        self._tell(f"The key is in {keys.private_file()}. Nobody else can make it again.", verifier)
        checkpoints.sign_all()
        for problem in anchors.anchor_all():
            self.stderr.write(problem)

    def _rotate(self) -> None:
        verifier = key_rotation.rotate_key(by=ACTOR)
        self._tell("The new key signs. The old private key was removed from this host.", verifier)

    def _show(self) -> None:
        for key in keys.published_keys():
            until = "in force" if key.last is None else f"to size {key.last}"
            self.stdout.write(f"{key.verifier.text}  from size {key.first}, {key.since}, {until}")
        if not keys.published_keys():
            raise KeyProblem("There is no key yet. `manage.py audit_keys create` makes it.")

    def _tell(self, what: str, verifier: Verifier) -> None:
        self.stdout.write(what)
        self.stdout.write("Whoever verifies this ledger needs this line, from you and not from us:")
        self.stdout.write(verifier.text)
