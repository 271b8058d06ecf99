"""Creates, shows and replaces the key that signs checkpoints."""

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
        "create: create the first key in AUDIT_KEY_FILE. show: print all public keys. rotate: "
        "replace the key by a new one. The old key signs the new one, and is then removed from "
        "this host."
    )
    # This command can replace a key that other users can read, which is an error of the checks.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["create", "show", "rotate"])
        parser.add_argument(
            "--lost",
            action="store_true",
            help="create: even if there was a key. No older key signs the new one.",
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
        self._write(
            f"The key is in {keys.get_private_file()}. It cannot be created again.", verifier
        )
        checkpoints.sign_all()
        for problem in anchors.anchor_all():
            self.stderr.write(problem)

    def _rotate(self) -> None:
        verifier = key_rotation.rotate_key(by=ACTOR)
        self._write(
            "The new key is in use. The old private key was removed from this host.", verifier
        )

    def _show(self) -> None:
        for key in keys.read_published_keys():
            until = "in force" if key.last is None else f"to size {key.last}"
            self.stdout.write(f"{key.verifier.text}  from size {key.first}, {key.since}, {until}")
        if not keys.read_published_keys():
            raise CommandError("There is no key yet. Run `manage.py audit_keys create`.")

    def _write(self, result: str, verifier: Verifier) -> None:
        self.stdout.write(result)
        self.stdout.write("Give this line yourself to everyone who verifies this ledger:")
        self.stdout.write(verifier.text)
