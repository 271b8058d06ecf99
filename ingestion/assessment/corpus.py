"""Prepares a corpus for an assessment, runs the assessment, and describes its result."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from audit.files import durable
from ingestion.assessment import assess, scores
from ingestion.assessment.assess import NO_SITE, AssessedFile, list_skipped
from ingestion.assessment.records import AssessmentPlan
from ingestion.assessment.scores import Totals
from ingestion.assessment.truth import Criteria, Truth
from ingestion.documents.active_model import ACTIVE_MODEL, find_model, write_model_file
from ingestion.documents.site_facts import build_site_facts
from ingestion.models import LearnedModel
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.classification.model_file import ModelFile
from ingestion.rules.document_types import RULES_VERSION
from sites.models import Site

TRUTH_FILE = "truth.json"  # in the folder, if no other file is named

Report = Callable[[str, AssessedFile], None]


class CorpusError(Exception):
    """The corpus cannot be assessed. The message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class AssessmentResult:
    """The result of an assessment. `content` is the JSON of `assess_corpus`."""

    content: dict[str, Any]
    totals: Totals | None  # None without a truth file

    @property
    def missed(self) -> list[str]:
        """Return the criteria that are not met, as sentences."""
        missed: list[str] = self.content["missed"]
        return missed


@dataclass(frozen=True, slots=True)
class PreparedCorpus:
    """The files of a corpus, and how they are assessed."""

    files: Mapping[str, Path]  # by name
    truth: Truth | None
    site: SiteFacts
    model: ModelFile | None
    today: date
    plan: AssessmentPlan

    def assess(self, report: Report) -> AssessmentResult:
        """Assess all files, and call `report` with each result. What it raises ends the assessment.

        Raises ReadingFault and OSError.
        """
        results = assess.assess_files(
            self.files,
            settings.READING_LIMITS,
            today=self.today,
            site=self.site,
            model=self.model,
            report=report,
        )
        totals = scores.compare_with_truth(results, self.truth.files) if self.truth else None
        content = {
            "rules": self.plan.rules_version,
            "skipped": list_skipped(self.site),
            "files": [result.as_json(name) for name, result in results.items()],
            "totals": totals.as_json() if totals else {},
            "missed": list(totals.failed_criteria(self.plan.criteria)) if totals else [],
        }
        return AssessmentResult(content, totals)


@contextmanager
def prepare_corpus(
    folder: Path,
    *,
    truth_path: Path | None = None,
    site_number: str = "",
    day: date | None = None,
    model_name: str = ACTIVE_MODEL,
) -> Iterator[PreparedCorpus]:
    """Prepare the files of a folder for an assessment. During the block, the model is a file.

    Raises CorpusError, TruthError, StorageUnavailable and OSError.
    """
    with tempfile.TemporaryDirectory(prefix="siteledger-assessment-") as scratch:
        model = _find_model(model_name, Path(scratch))
        rules = model.rules_version if model else RULES_VERSION
        path = truth_path or folder / TRUTH_FILE
        truth = Truth.load(path) if truth_path or path.is_file() else None
        criteria = Criteria.parse(settings.ASSESSMENT_CRITERIA)
        criteria = criteria.tightened_by(truth.criteria) if truth else criteria
        files, site = _list_files(folder, truth), _find_site(site_number)
        today = day or timezone.now().date()
        plan = AssessmentPlan(
            {name: durable.hash_file(path).sha256 for name, path in files.items()},
            criteria,
            rules,
            durable.hash_file(path).sha256 if truth else "",
            site.site_id,
            today.isoformat(),
        )
        yield PreparedCorpus(files, truth, site, model, today, plan)


def _find_model(name: str, scratch: Path) -> ModelFile | None:
    """Return a file with the model of this name, or None for the built-in one."""
    try:
        model = find_model(name)
    except (LearnedModel.DoesNotExist, ValueError) as error:
        raise CorpusError(f"There is no model {name}.") from error
    return write_model_file(model, scratch) if model else None


def _list_files(folder: Path, truth: Truth | None) -> dict[str, Path]:
    """Return the files that the truth names, or all files of the folder, by name."""
    if not folder.is_dir():
        raise CorpusError(f"{folder} is not a folder.")
    if truth:
        named = {file.file: folder / file.file for file in truth.files}
        files = {name: path for name, path in named.items() if path.is_file()}
    else:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {str(path.relative_to(folder)): path for path in paths}
    if not files:
        raise CorpusError(f"There are no files in {folder}.")
    return files


def _find_site(number: str) -> SiteFacts:
    if not number:
        return NO_SITE
    site = Site.objects.select_related("study").filter(site_id=number).first()
    if site is None:
        raise CorpusError(f"There is no site {number}.")
    return build_site_facts(site)
