"""Verifies the ledger, for people and for schedulers, and reports how strong the result is.

Exit codes: 0 if the ledger is intact, and confirmed by an anchor that this installation cannot
rewrite; 1 if it is broken, with the first bad entry; 2 if the verification could not run, which is
no result about the ledger; 3 if it is consistent, but confirmed only by this installation itself.
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

ADVICE = (
    "What to do: stop the workers, keep a copy of the database as it is, and find out who could\n"
    "write to it. Do not repair anything: the damage is the evidence."
)


class Command(BaseCommand):
    help = (
        "Checks that nothing in the audit trail was changed, removed or added, and whether an "
        "anchor outside of this installation confirms it."
    )
    # This command reports missing triggers, so they must not prevent it from running.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        modes = parser.add_mutually_exclusive_group()
        modes.add_argument(
            "--full",
            dest="mode",
            action="store_const",
            const=Mode.FULL,
            default=Mode.INCREMENTAL,
            help="Read all entries, and not only those after the last verification. Only a "
            "verification that reads every entry can have exit code 0. Without checkpoints, every "
            "verification reads all entries.",
        )
        modes.add_argument(
            "--since-anchor",
            dest="mode",
            action="store_const",
            const=Mode.SINCE_ANCHOR,
            help="Read the entries after the newest checkpoint that is outside of the database.",
        )
        modes.add_argument(
            "--policy",
            type=Path,
            metavar="FILE",
            help="Read all entries, trust only the keys in FILE (c2sp.org/tlog-policy) and require "
            "its places (`place NAME`). Keep FILE outside of this installation. The result is "
            "printed, but not stored.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            if options["policy"]:
                verdict = verify_ledger(Mode.FULL, policy=_read_policy(options["policy"]))
            else:
                verdict, _ = run_check(options["mode"], asked_by="system:command")
        except (Error, CannotVerify, PolicyError) as error:
            message = f"The audit trail could not be checked: {str(error).strip()}"
            if options["json"]:
                self.stdout.write(
                    json.dumps({"result": None, "exit_code": COULD_NOT_RUN, "error": message})
                )
            raise CommandError(message, returncode=COULD_NOT_RUN) from error
        exit_code = EXIT_CODES[verdict.result]
        if options["json"]:
            outcome = {"result": verdict.result.value, "exit_code": exit_code}
            facts = asdict(verdict) | {"seconds": round(verdict.seconds, 3)}
            facts["again"] = facts.pop("reread")  # the name that readers of the JSON know
            self.stdout.write(json.dumps(outcome | facts))
        else:
            self.stdout.write(_report(verdict))
        if exit_code:
            sys.exit(exit_code)


def _read_policy(file: Path) -> Policy:
    """Return the policy in a file. Raises PolicyError, with the name of the file."""
    try:
        return tlog_policy.parse_policy(file.read_bytes())
    except OSError as error:
        raise PolicyError(f"The policy {file} cannot be read: {error.strerror}.") from error
    except PolicyError as error:
        raise PolicyError(f"The policy {file} cannot be used. {error}") from error


def _report(verdict: LedgerVerdict) -> str:
    """Return the report of a verification, for people."""
    was_read = (
        f"Read {verdict.entries_read:,} of {verdict.entries:,} entries in {verdict.seconds:.1f} s."
    )
    remarks = [was_read, *verdict.unconfirmed, *verdict.notices]
    if verdict.result != Result.BROKEN:
        return "\n".join([_describe_valid_chain(verdict), *remarks])
    if verdict.first_bad:
        fault = _describe_break(verdict.first_bad, verdict.entries)
    else:
        fault = f"The chain of {verdict.entries:,} entries is intact, but there are other problems:"
    return "\n".join([fault, *verdict.problems, *remarks, ADVICE])


def _describe_valid_chain(verdict: LedgerVerdict) -> str:
    head = f"{verdict.head[:4]}...{verdict.head[-4:]}"
    trail = f"{verdict.entries:,} entries, head {head}."
    if verdict.result == Result.UNANCHORED:
        return f"The chain is consistent, not confirmed by an independent anchor: {trail}"
    newer = verdict.entries - (verdict.vouched_to or 0)
    which = "1 newer entry" if newer == 1 else f"{newer:,} newer entries"
    waiting = f" Not anchored yet: {which}." if newer > 0 else ""
    return (
        f"The chain is intact, confirmed by an independent anchor: {trail}\n"
        f"{' and '.join(verdict.vouched_by)} holds the checkpoint of {verdict.vouched_to:,} "
        f"entries, as read back just now.{waiting}"
    )


def _describe_break(bad: ChainBreak, valid_entries: int) -> str:
    return (
        f"The chain is BROKEN at entry {bad.seq:,}: {bad.why}.\n"
        f"  expected: {bad.expected or '(nothing)'}\n"
        f"  found:    {bad.found or '(nothing)'}\n"
        f"The {valid_entries:,} entries before it are intact."
    )
