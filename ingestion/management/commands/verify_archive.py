"""Checks the archive.

Exit codes: 0 every file is unchanged; 1 a file is missing, changed, unreadable or writable; 2 the
check could not run, which says nothing about the archive.
"""

import argparse
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from ingestion.core.errors import StorageUnavailable
from ingestion.storage import archive_verification
from ingestion.storage.archive_verification import ArchiveFault, VerificationResult

_LOCK = "corrected within a month, or now by `manage.py lock_archive` (this does no harm)"
WHAT = {
    ArchiveFault.MISSING: "MISSING, although a document says that it was stored",
    ArchiveFault.CHANGED: "CHANGED: the bytes do not match the name",
    ArchiveFault.UNREADABLE: "cannot be read",
    ArchiveFault.WRITABLE: (
        "is writable: protect it (chmod 444, Object Lock), and find out since when"
    ),
    ArchiveFault.ORPHANED: "belongs to no document (this does no harm)",
    ArchiveFault.SHORT: f"is locked in S3 for less than its study's retention: {_LOCK}",
    ArchiveFault.UNHELD: f"has no legal hold in S3, and its study has one: {_LOCK}",
    ArchiveFault.STILL_HELD: f"has a legal hold in S3 that was lifted: {_LOCK}",
}
WHAT_TO_DO = (
    "What to do: keep the archive as it is, find out who could write to it, and restore the named\n"
    "files from a backup. Documents name their file by its hash, in `sha256`."
)


class Command(BaseCommand):
    help = "Reads every file of the archive, and compares it with the documents on file."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--rolling",
            action="store_true",
            help="Only the part of today: each file is read once a month.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        parts = (
            archive_verification.list_parts_of_day()
            if options["rolling"]
            else archive_verification.PARTS
        )
        is_shown = self.stderr.isatty() and not options["json"]
        progress = self._show_progress if is_shown else _hide_progress
        try:
            stock = archive_verification.verify_parts(
                parts, asked_by="system:command", progress=progress
            )
        except (Error, StorageUnavailable, OSError) as error:
            raise self._failure(error, as_json=options["json"]) from error
        self.stdout.write(json.dumps(stock.as_json()) if options["json"] else _summary(stock))
        if not stock.intact:
            sys.exit(1)

    def _show_progress(self, done: int, total: int) -> None:
        end = "\n" if done == total else ""
        self.stderr.write(f"\r{done} of {total} parts read", ending=end)
        self.stderr.flush()

    def _failure(self, error: Exception, *, as_json: bool) -> CommandError:
        message = f"The archive could not be checked: {str(error).strip()}"
        if as_json:
            self.stdout.write(json.dumps({"intact": None, "error": message}))
        return CommandError(message, returncode=2)


def _hide_progress(_done: int, _total: int) -> None:
    pass


def _summary(stock: VerificationResult) -> str:
    first = f"{stock.files:,} files read in {stock.seconds:.1f} s"
    if stock.intact:
        first = f"The archive is intact: {first}."
    else:
        first = f"The archive DIFFERS from what was filed ({first}):"
    lines = [first]
    for fault, names in stock.named.items():
        lines += [f"{name} {WHAT[fault]}" for name in names]
        if (more := stock.counts[fault] - len(names)) > 0:
            lines.append(f"And {more:,} more that are {fault}.")
    return "\n".join(lines if stock.intact else [*lines, WHAT_TO_DO])
