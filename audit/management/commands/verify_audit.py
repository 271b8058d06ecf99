"""Checks the ledger, for people and for schedulers, and says how strong the result is.

Exit codes: 0 it is intact, and an anchor that this installation cannot rewrite vouches for it; 1 it
is broken, and the first bad entry is named; 2 the check could not be run, which says nothing about
the ledger; 3 it is consistent, but only by this installation's own word.
"""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from audit.ledger.chain import ChainBreak
from audit.verification import tlog_policy
from audit.verification.checkpoint_verification import CannotVerify
from audit.verification.runs import run_check
from audit.verification.start import Mode
from audit.verification.tlog_policy import Policy, PolicyError
from audit.verification.verify import (
    COULD_NOT_RUN,
    EXIT_CODES,
    LedgerVerdict,
    Result,
    verify_ledger,
)

WHAT_TO_DO = (
    "What to do: stop the workers, keep a copy of the database as it is, and find out who could\n"
    "write to it. Do not repair anything: the damage is the evidence."
)


class Command(BaseCommand):
    help = (
        "Checks that nothing in the audit trail was changed, removed or added, and whether "
        "anything outside of this installation vouches for it."
    )
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
            help="From the first entry on, and not from where the last check came to. Only a check "
            "that reads every entry can end with 0. So is every run as long as there are no "
            "checkpoints.",
        )
        begins.add_argument(
            "--since-anchor",
            dest="mode",
            action="store_const",
            const=Mode.SINCE_ANCHOR,
            help="From the newest checkpoint on that is held outside of the database.",
        )
        begins.add_argument(
            "--policy",
            type=Path,
            metavar="FILE",
            help="Read every entry, believe only the keys in FILE (c2sp.org/tlog-policy) and "
            "require its places (`place NAME`). Keep FILE outside of this installation. The result "
            "is printed and not kept.",
        )
        parser.add_argument("--json", action="store_true", help="One JSON object, for programs.")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            if options["policy"]:
                verdict = verify_ledger(Mode.FULL, policy=_read(options["policy"]))
            else:
                verdict, _ = run_check(options["mode"], asked_by="system:command")
        except (Error, CannotVerify, PolicyError) as error:
            message = f"The audit trail could not be checked: {str(error).strip()}"
            if options["json"]:
                self.stdout.write(
                    json.dumps({"result": None, "exit_code": COULD_NOT_RUN, "error": message})
                )
            raise CommandError(message, returncode=COULD_NOT_RUN) from error
        self.stdout.write(json.dumps(_as_json(verdict)) if options["json"] else _told(verdict))
        if code := EXIT_CODES[verdict.result]:
            sys.exit(code)


def _read(file: Path) -> Policy:
    """Raises PolicyError, which names the file."""
    try:
        return tlog_policy.parse_policy(file.read_bytes())
    except OSError as error:
        raise PolicyError(f"The policy {file} cannot be read: {error.strerror}.") from error
    except PolicyError as error:
        raise PolicyError(f"The policy {file} cannot be used. {error}") from error


def _as_json(verdict: LedgerVerdict) -> dict[str, Any]:
    outcome = {"result": verdict.result.value, "exit_code": EXIT_CODES[verdict.result]}
    return outcome | asdict(verdict) | {"seconds": round(verdict.seconds, 3)}


def _told(verdict: LedgerVerdict) -> str:
    more = [_told_read(verdict), *verdict.own_word, *verdict.notices]
    if verdict.result != Result.BROKEN:
        return "\n".join([_told_result(verdict), *more])
    chain = f"The chain holds, all {verdict.entries:,} entries of it, but not everything does:"
    first = _told_break(verdict.first_bad, verdict.entries) if verdict.first_bad else chain
    return "\n".join([first, *verdict.problems, *more, WHAT_TO_DO])


def _told_result(verdict: LedgerVerdict) -> str:
    trail = f"{verdict.entries:,} entries, head {_short(verdict.head)}."
    if verdict.result == Result.UNANCHORED:
        return f"The chain is consistent, but only by this installation's own word: {trail}"
    newer = verdict.entries - (verdict.vouched_to or 0)
    which = "1 newer entry" if newer == 1 else f"{newer:,} newer entries"
    waiting = f" Not anchored yet: {which}." if newer > 0 else ""
    return (
        f"The chain is intact, and vouched for from outside: {trail}\n"
        f"{' and '.join(verdict.vouched_by)} holds the checkpoint of {verdict.vouched_to:,} "
        f"entries, as read back just now.{waiting}"
    )


def _told_read(verdict: LedgerVerdict) -> str:
    return (
        f"Read {verdict.entries_read:,} of {verdict.entries:,} entries in {verdict.seconds:.1f} s."
    )


def _told_break(bad: ChainBreak, holding: int) -> str:
    return (
        f"The chain is BROKEN at entry {bad.seq:,}: {bad.why}.\n"
        f"  expected: {bad.expected or '(nothing)'}\n"
        f"  found:    {bad.found or '(nothing)'}\n"
        f"The {holding:,} entries before it hold."
    )


def _short(digest: str) -> str:
    return f"{digest[:4]}...{digest[-4:]}"
