"""Reads and judges every file of a folder without filing it, and compares the results with a truth.

It is the acceptance test before new rules are activated. Exit codes: 0 every criterion is met, or
there is no truth; 1 a criterion is missed; 2 the assessment could not run.
"""

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from ingestion.assessment import assess, scores
from ingestion.assessment.assess import NO_SITE, SKIPPED_WITHOUT_SITE, AssessedFile
from ingestion.assessment.scores import Totals
from ingestion.assessment.truth import Truth, TruthError
from ingestion.core.errors import ReadingFault
from ingestion.models import ValidityOverride
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.document_types import RULES_VERSION
from sites.models import Site

COULD_NOT_RUN = 2
TRUTH_FILE = "truth.json"  # in the folder, if --truth is not given


class Command(BaseCommand):
    help = (
        "Reads and judges every file of a folder without filing it, and prints its state, its "
        "findings and the documents in it. With a truth file, the totals are compared with the "
        "criteria. Nothing is stored."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--truth", type=Path, metavar="FILE", help=f"Default: {TRUTH_FILE} in the folder."
        )
        parser.add_argument("--site", metavar="NUMBER", help="The site that sent the files.")
        parser.add_argument(
            "--day", type=date.fromisoformat, help="The date of the checks. Default: today."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        as_json = options["json"]
        try:
            truth = self._load_truth(folder, options["truth"])
            files = self._list_files(folder, truth)
            site = self._find_site(options["site"])
            if not site.site_id and not as_json:
                self.stdout.write(
                    f"Without --site these are not checked: {', '.join(SKIPPED_WITHOUT_SITE)}."
                )
            results = assess.assess_files(
                files,
                settings.READING_LIMITS,
                today=options["day"] or timezone.now().date(),
                site=site,
                report=(lambda *_: None) if as_json else self._show_file,
            )
        except (TruthError, ReadingFault, OSError) as error:
            raise CommandError(
                f"The assessment could not run: {error}", returncode=COULD_NOT_RUN
            ) from error
        totals = scores.compare(results, truth.files) if truth else None
        failed = list(totals.failed_criteria(truth.criteria)) if truth and totals else []
        if as_json:
            self._print_json(results, totals, site, failed)
        elif totals:
            self._show_totals(totals, failed)
        if failed:
            sys.exit(1)

    def _load_truth(self, folder: Path, given: Path | None) -> Truth | None:
        path = given or folder / TRUTH_FILE
        return Truth.load(path) if given or path.is_file() else None

    def _list_files(self, folder: Path, truth: Truth | None) -> dict[str, Path]:
        """Return the files that the truth names, or all files of the folder, by name."""
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.", returncode=COULD_NOT_RUN)
        if truth:
            named = {file.file: folder / file.file for file in truth.files}
            files = {name: path for name, path in named.items() if path.is_file()}
        else:
            paths = sorted(path for path in folder.rglob("*") if path.is_file())
            files = {str(path.relative_to(folder)): path for path in paths}
        if not files:
            raise CommandError(f"There are no files in {folder}.", returncode=COULD_NOT_RUN)
        return files

    def _find_site(self, number: str | None) -> SiteFacts:
        if not number:
            return NO_SITE
        site = Site.objects.select_related("study").filter(site_id=number).first()
        if site is None:
            raise CommandError(f"There is no site {number}.", returncode=COULD_NOT_RUN)
        return SiteFacts(
            site.site_id,
            site.study.protocol_number,
            site.name,
            site.study.protocol_version,
            site.activated_on,
            ValidityOverride.objects.of_study(site.study_id),
        )

    def _show_file(self, name: str, result: AssessedFile) -> None:
        self.stdout.write(
            f"{result.state:<9} {result.seconds:6.1f} s  {name}  {' '.join(result.codes)}".rstrip()
        )
        for document in result.documents:
            first, last = document.pages
            candidates = ", ".join(
                f"{each.slug} {each.probability:.2f}" for each in document.candidates
            )
            self.stdout.write(
                f"    pages {first} to {last}: {document.slug or 'no type'} ({candidates})"
            )
            for value in document.fields:
                place = f"page {value.page}" if value.page else "form field"
                self.stdout.write(
                    f"        {value.name}: {value.value} ({place}, {value.confidence:.0f} %)"
                )

    def _show_totals(self, totals: Totals, failed: list[str]) -> None:
        self.stdout.write(f"\nRules {RULES_VERSION}: {totals.files} files assessed")
        for name, value in totals.as_json().items():
            if name != "types":
                text = ", ".join(value) if isinstance(value, list) else value
                self.stdout.write(f"  {name.replace('_', ' '):<22} {text}")
        for slug, counts in totals.as_json()["types"].items():
            self.stdout.write(
                f"  {slug:<36} {counts['documents']:>4} documents, recall {counts['recall']}, "
                f"precision {counts['precision']}"
            )
        for sentence in failed:
            self.stdout.write(f"MISSED: {sentence}")
        if not failed:
            self.stdout.write("Every criterion is met.")

    def _print_json(
        self,
        results: dict[str, AssessedFile],
        totals: Totals | None,
        site: SiteFacts,
        failed: list[str],
    ) -> None:
        skipped = [] if site.site_id else list(SKIPPED_WITHOUT_SITE)
        content = {
            "rules": RULES_VERSION,
            "skipped": skipped,
            "files": [result.as_json(name) for name, result in results.items()],
            "totals": totals.as_json() if totals else {},
            "missed": failed,
        }
        self.stdout.write(json.dumps(content, indent=1, ensure_ascii=False))
