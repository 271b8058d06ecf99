"""Checks the ledger, for people and for schedulers.

Exit codes: 0 the chain is intact; 1 it is not, and the first bad entry is
named; 2 the check could not be run, which says nothing about the chain.
"""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from audit.chain import Break
from audit.verify import Verdict, verify

WHAT_TO_DO = (
    "What to do: stop the workers, keep a copy of the database as it is, and find out who could\n"
    "write to it. Do not repair anything: the damage is the evidence."
)


class Command(BaseCommand):
    help = "Checks that nothing in the audit trail was changed, removed or added."
    # A missing guard is a finding of this command, not a reason not to run it.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--full",
            action="store_true",
            help="From the first entry on. So is every run as long as there are no checkpoints.",
        )
        parser.add_argument("--json", action="store_true", help="One JSON object, for programs.")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            verdict = verify()
        except Error as error:
            message = f"The audit trail could not be checked: {str(error).strip()}"
            if options["json"]:
                self.stdout.write(json.dumps({"intact": None, "error": message}))
            raise CommandError(message, returncode=2) from error
        self.stdout.write(json.dumps(_as_json(verdict)) if options["json"] else _told(verdict))
        if not verdict.intact:
            sys.exit(1)


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {"intact": verdict.intact} | asdict(verdict) | {"seconds": round(verdict.seconds, 3)}


def _told(verdict: Verdict) -> str:
    if verdict.intact:
        return (
            f"The chain is intact: {verdict.entries:,} entries, "
            f"head {_short(verdict.head)}, checked in {verdict.seconds:.1f} s."
        )
    chain = f"The chain holds, all {verdict.entries:,} entries of it, but not everything does:"
    first = _told_break(verdict.first_bad, verdict.entries) if verdict.first_bad else chain
    return "\n".join([first, *verdict.problems, WHAT_TO_DO])


def _told_break(bad: Break, holding: int) -> str:
    return (
        f"The chain is BROKEN at entry {bad.seq:,}: {bad.why}.\n"
        f"  expected: {bad.expected or '(nothing)'}\n"
        f"  found:    {bad.found or '(nothing)'}\n"
        f"The {holding:,} entries before it hold."
    )


def _short(digest: str) -> str:
    return f"{digest[:4]}...{digest[-4:]}"
