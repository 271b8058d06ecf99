"""Checks the files of the archive.

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
FAULT_TEXTS = {
    ArchiveFault.MISSING: "MISSING, although a document says that it was stored",
    ArchiveFault.CHANGED: "CHANGED: the bytes do not match the name",
    ArchiveFault.UNREADABLE: "cannot be read",
    ArchiveFault.WRITABLE: (
        "is writable: protect it (chmod 444, Object Lock), and find out since when it was"
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
        as_json = options["json"]

        def show_progress(done: int, total: int) -> None:
            if self.stderr.isatty() and not as_json:
                end = "\n" if done == total else ""
                self.stderr.write(f"\r{done} of {total} parts read", ending=end)
                self.stderr.flush()

        try:
            result = archive_verification.verify_parts(
                parts, asked_by="system:command", progress=show_progress
            )
        except (Error, StorageUnavailable, OSError) as error:
            message = f"The archive could not be checked: {str(error).strip()}"
            if as_json:
                self.stdout.write(json.dumps({"intact": None, "error": message}))
            raise CommandError(message, returncode=2) from error
        self.stdout.write(json.dumps(result.as_json()) if as_json else _describe_result(result))
        if not result.intact:
            sys.exit(1)


def _describe_result(result: VerificationResult) -> str:
    """Return the result for people: the faults by kind, and what to do about them."""
    first = f"{result.files:,} files read in {result.seconds:.1f} s"
    if result.intact:
        first = f"The archive is intact: {first}."
    else:
        first = f"The archive DIFFERS from what was filed ({first}):"
    lines = [first]
    for fault, names in result.named.items():
        lines += [f"{name} {FAULT_TEXTS[fault]}" for name in names]
        if (more := result.counts[fault] - len(names)) > 0:
            lines.append(f"And {more:,} more that are {fault}.")
    return "\n".join(lines if result.intact else [*lines, WHAT_TO_DO])
