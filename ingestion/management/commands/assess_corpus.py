"""Reads and judges every file of a folder without filing it, and compares the results with a truth.

It is the acceptance test before new rules are activated. Exit codes: 0 every criterion is met, or
there is no truth; 1 a criterion is missed; 2 the assessment could not run.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ingestion.assessment import records
from ingestion.assessment.assess import AssessedFile, list_skipped
from ingestion.assessment.corpus import TRUTH_FILE, CorpusError, PreparedCorpus, prepare_corpus
from ingestion.assessment.records import AssessmentPlan
from ingestion.assessment.scores import Totals
from ingestion.assessment.truth import TruthError
from ingestion.core.errors import ReadingFault, StorageUnavailable
from ingestion.documents.active_model import ACTIVE_MODEL, BUILT_IN_MODEL
from sites.accounts.terminal_signature import NotSigned, find_signer, sign_at_terminal
from sites.models import User

COULD_NOT_RUN = 2


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
            with prepare_corpus(
                folder,
                truth_path=options["truth"],
                site_number=options["site"] or "",
                day=options["day"],
                model_name=options["model"],
            ) as corpus:
                failed = self._assess(corpus, options)
        except (
            CorpusError, TruthError, ReadingFault, StorageUnavailable, NotSigned, OSError,
        ) as error:  # fmt: skip
            raise CommandError(
                f"The assessment could not run: {error}", returncode=COULD_NOT_RUN
            ) from error
        if failed:
            sys.exit(1)

    def _assess(self, corpus: PreparedCorpus, options: Mapping[str, Any]) -> list[str]:
        """Assess the corpus, print and record the result, and return the missed criteria."""
        if options["record"] != bool(options["by"]):
            raise NotSigned("--record and --by USER belong together.")
        signer = find_signer(options["by"], records.PERMISSION) if options["by"] else None
        run = records.record_start(corpus.plan, by=signer) if signer else ""
        if not options["json"]:
            with_site = corpus.site.site_id
            why = "one file at a time" if with_site else "one file at a time, without --site"
            skipped = ", ".join(list_skipped(corpus.site))
            self.stdout.write(f"Assessed {why}, not checked: {skipped}.")
        result = corpus.assess(self._show_file if not options["json"] else lambda *_: None)
        if options["json"]:
            self.stdout.write(json.dumps(result.content, indent=1, ensure_ascii=False))
        elif result.totals:
            self._show_totals(result.totals, result.missed, corpus.plan.rules_version)
        if signer:
            self._sign(corpus.plan, result.content, run, signer)
        return result.missed

    def _sign(
        self, plan: AssessmentPlan, content: Mapping[str, Any], run: str, signer: User
    ) -> None:
        """Ask for the signature, and record the result. The output of --json stays one object."""
        by = sign_at_terminal(signer, records.MEANING, records.PERMISSION)
        row = records.sign_result(plan, content, run=run, user=signer, by=by)
        self.stderr.write(f"Signed as {row.subject}. SHA-256 of the result: {row.sha256}")

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
