"""Prints what is read from a file, without filing it.

Exit codes: 0 every page was read; 1 the file or one of its pages cannot be read; 2 the command
could not run.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingestion.assessment.page_descriptions import describe_page, read_file
from ingestion.core.errors import ReadingFault, StorageUnavailable
from ingestion.reading.results import PageReading, Unreadable
from ingestion.rules.finding_texts import format_sentences

COULD_NOT_RUN = 2


class Command(BaseCommand):
    help = (
        "Reads a file as a worker host would, and prints the text of its pages. Nothing is judged, "
        "filed or stored."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--json",
            action="store_true",
            help="Print one JSON object, with each word and its place on the page.",
        )

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"There is no file {file}.", returncode=COULD_NOT_RUN)
        try:
            reading = read_file(file, settings.READING_LIMITS)
        except (ReadingFault, StorageUnavailable, LookupError, OSError) as error:
            raise CommandError(
                f"{file} could not be read: {error}", returncode=COULD_NOT_RUN
            ) from error
        if isinstance(reading, Unreadable):
            sentences = format_sentences(reading.code, reading.facts, for_staff=True)
            raise CommandError(f"{reading.code}: {sentences.what} {sentences.do}")
        if options["json"]:
            content = {"pages": [describe_page(page) for page in reading.pages]}
            self.stdout.write(json.dumps(content, ensure_ascii=False))
        else:
            for page in reading.pages:
                self._show(page)
        unread = [page for page in reading.pages if page.error]
        for page in unread:
            self.stderr.write(f"Page {page.number} was not read: {page.error}")
        if unread:
            sys.exit(1)

    def _show(self, page: PageReading) -> None:
        """Print a page as text, below a line that says how it was read."""
        description = describe_page(page)
        parts = [f"Page {page.number}: {page.source.value}"]
        if page.is_blank:
            parts.append("blank")
        if page.dpi:
            parts.append(f"{page.dpi} dpi, confidence {page.confidence:.0f} %")
        if description["language"]:
            parts.append(f"language {description['language']}")
        parts += [
            f"{kind.value} {amount:g}" if amount else kind.value
            for kind, amount in page.corrections
        ]
        self.stdout.write(f"=== {', '.join(parts)} ===\n{page.text}\n")
