"""Checks the ledger, for people and for schedulers.

Exit codes: 0 the chain is intact; 1 it is not, and the first bad entry is
named; 2 the check could not be run, which says nothing about the chain; 3 it is
intact, but its newest checkpoints are held nowhere else.
"""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from audit.chain import Break
from audit.heads import CannotCheck
from audit.runs import check
from audit.starts import Mode
from audit.verify import Verdict

WHAT_TO_DO = (
    "What to do: stop the workers, keep a copy of the database as it is, and find out who could\n"
    "write to it. Do not repair anything: the damage is the evidence."
)


class Command(BaseCommand):
    help = "Checks that nothing in the audit trail was changed, removed or added."
    # A missing guard is a finding of this command, not a reason not to run it.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        begins = parser.add_mutually_exclusive_group()
        begins.add_argument(
            "--full",
            dest="mode",
            action="store_const",
            const=Mode.FULL,
            default=Mode.INCREMENTAL,
            help="From the first entry on, and not from where the last check came to. So is every "
            "run as long as there are no checkpoints.",
        )
        begins.add_argument(
            "--since-anchor",
            dest="mode",
            action="store_const",
            const=Mode.SINCE_ANCHOR,
            help="From the newest checkpoint on that is held outside of the database.",
        )
        parser.add_argument("--json", action="store_true", help="One JSON object, for programs.")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            verdict, _ = check(options["mode"], asked_by="system:command")
        except (Error, CannotCheck) as error:
            message = f"The audit trail could not be checked: {str(error).strip()}"
            if options["json"]:
                self.stdout.write(json.dumps({"intact": None, "error": message}))
            raise CommandError(message, returncode=2) from error
        self.stdout.write(json.dumps(_as_json(verdict)) if options["json"] else _told(verdict))
        if code := _exit_code(verdict):
            sys.exit(code)


def _exit_code(verdict: Verdict) -> int:
    if not verdict.intact:
        return 1
    return 3 if verdict.unanchored else 0


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {"intact": verdict.intact} | asdict(verdict) | {"seconds": round(verdict.seconds, 3)}


def _told(verdict: Verdict) -> str:
    more = [*verdict.unanchored, *verdict.notices]
    if verdict.intact:
        return "\n".join([_told_intact(verdict), *more])
    chain = f"The chain holds, all {verdict.entries:,} entries of it, but not everything does:"
    first = _told_break(verdict.first_bad, verdict.entries) if verdict.first_bad else chain
    return "\n".join([first, *verdict.problems, *more, WHAT_TO_DO])


def _told_intact(verdict: Verdict) -> str:
    since = "" if verdict.from_seq == 1 else f" from entry {verdict.from_seq:,} on"
    return (
        f"The chain is intact: {verdict.entries:,} entries, "
        f"head {_short(verdict.head)}, checked{since} in {verdict.seconds:.1f} s."
    )


def _told_break(bad: Break, holding: int) -> str:
    return (
        f"The chain is BROKEN at entry {bad.seq:,}: {bad.why}.\n"
        f"  expected: {bad.expected or '(nothing)'}\n"
        f"  found:    {bad.found or '(nothing)'}\n"
        f"The {holding:,} entries before it hold."
    )


def _short(digest: str) -> str:
    return f"{digest[:4]}...{digest[-4:]}"
