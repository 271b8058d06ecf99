"""Reads and judges every file of a folder without filing it, and compares the results with a truth.

It is the acceptance test before new rules are activated. Exit codes: 0 every criterion is met, or
there is no truth; 1 a criterion is missed; 2 the assessment could not run.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit.files import durable
from ingestion.assessment import assess, records, scores
from ingestion.assessment.assess import NO_SITE, AssessedFile, list_skipped
from ingestion.assessment.records import AssessmentPlan
from ingestion.assessment.scores import Totals
from ingestion.assessment.truth import Criteria, Truth, TruthError
from ingestion.core.errors import ReadingFault, StorageUnavailable
from ingestion.documents.active_model import (
    ACTIVE_MODEL,
    BUILT_IN_MODEL,
    find_model,
    write_model_file,
)
from ingestion.documents.site_facts import build_site_facts
from ingestion.models import LearnedModel
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.classification.model_file import ModelFile
from ingestion.rules.document_types import RULES_VERSION
from sites.accounts.terminal_signature import NotSigned, find_signer, sign_at_terminal
from sites.models import Site, User

COULD_NOT_RUN = 2
TRUTH_FILE = "truth.json"  # in the folder, if --truth is not given


class Command(BaseCommand):
    help = (
        "Reads and judges every file of a folder without filing it, and prints its state, its "
        "findings and the documents in it. With a truth file, the totals are compared with the "
        "criteria. Nothing is stored, unless the result is signed with --record --by USER."
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
        parser.add_argument(
            "--model",
            default=ACTIVE_MODEL,
            metavar="MODEL",
            help=f"{ACTIVE_MODEL} (default), {BUILT_IN_MODEL}, or the number of a learned model.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        parser.add_argument(
            "--record", action="store_true", help="Sign the result. It is kept in the ledger."
        )
        parser.add_argument(
            "--by", metavar="USER", help="The user who signs. The password is asked for at the end."
        )

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="siteledger-assessment-") as scratch:
                model = self._find_model(options["model"], Path(scratch))
                failed = self._assess(folder, model, options)
        except (TruthError, ReadingFault, StorageUnavailable, NotSigned, OSError) as error:
            raise CommandError(
                f"The assessment could not run: {error}", returncode=COULD_NOT_RUN
            ) from error
        if failed:
            sys.exit(1)

    def _find_model(self, name: str, scratch: Path) -> ModelFile | None:
        """Return a file with the model of this name, or None for the built-in one."""
        try:
            model = find_model(name)
        except (LearnedModel.DoesNotExist, ValueError) as error:
            raise CommandError(f"There is no model {name}.", returncode=COULD_NOT_RUN) from error
        return write_model_file(model, scratch) if model else None

    def _assess(
        self, folder: Path, model: ModelFile | None, options: Mapping[str, Any]
    ) -> list[str]:
        """Assess the folder, print and record the result, and return the missed criteria."""
        rules = model.rules_version if model else RULES_VERSION
        if options["record"] != bool(options["by"]):
            raise NotSigned("--record and --by USER belong together.")
        signer = find_signer(options["by"], records.PERMISSION) if options["by"] else None
        path = options["truth"] or folder / TRUTH_FILE
        truth = Truth.load(path) if options["truth"] or path.is_file() else None
        criteria = Criteria.parse(settings.ASSESSMENT_CRITERIA)
        criteria = criteria.tightened_by(truth.criteria) if truth else criteria
        files = self._list_files(folder, truth)
        site = self._find_site(options["site"])
        today = options["day"] or timezone.now().date()
        plan = AssessmentPlan(
            {name: durable.hash_file(path).sha256 for name, path in files.items()},
            criteria,
            rules,
            durable.hash_file(path).sha256 if truth else "",
            site.site_id,
            today.isoformat(),
        )
        run = records.record_start(plan, by=signer) if signer else ""
        results = self._read(files, site, today, model, is_shown=not options["json"])
        totals = scores.compare_with_truth(results, truth.files) if truth else None
        content: dict[str, Any] = {
            "rules": rules,
            "skipped": list_skipped(site),
            "files": [result.as_json(name) for name, result in results.items()],
            "totals": totals.as_json() if totals else {},
            "missed": list(totals.failed_criteria(criteria)) if totals else [],
        }
        if options["json"]:
            self.stdout.write(json.dumps(content, indent=1, ensure_ascii=False))
        elif totals:
            self._show_totals(totals, content["missed"], rules)
        if signer:
            self._sign(plan, content, run, signer)
        missed: list[str] = content["missed"]
        return missed

    def _read(
        self,
        files: Mapping[str, Path],
        site: SiteFacts,
        today: date,
        model: ModelFile | None,
        *,
        is_shown: bool,
    ) -> dict[str, AssessedFile]:
        if is_shown:
            why = "one file at a time" if site.site_id else "one file at a time, without --site"
            self.stdout.write(f"Assessed {why}, not checked: {', '.join(list_skipped(site))}.")
        report = self._show_file if is_shown else lambda *_: None
        limits = settings.READING_LIMITS
        return assess.assess_files(
            files, limits, today=today, site=site, model=model, report=report
        )

    def _sign(
        self, plan: AssessmentPlan, content: Mapping[str, Any], run: str, signer: User
    ) -> None:
        """Ask for the signature, and record the result. The output of --json stays one object."""
        by = sign_at_terminal(signer, records.MEANING, records.PERMISSION)
        row = records.sign_result(plan, content, run=run, user=signer, by=by)
        self.stderr.write(f"Signed as {row.subject}. SHA-256 of the result: {row.sha256}")

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
        return build_site_facts(site)

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

    def _show_totals(self, totals: Totals, failed: list[str], rules: str) -> None:
        self.stdout.write(f"\nRules {rules}: {totals.files} files assessed")
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
