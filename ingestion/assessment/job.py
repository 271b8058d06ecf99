"""Assesses a corpus in ASSESSMENT_DIR as a background job, which writes the result to EXPORT_DIR.

The result of a job is not signed. A person signs the result of `assess_corpus --record`.
"""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from audit import job_runs
from audit.background_jobs import AuditJob
from audit.files import durable
from audit.job_runs import ExplainedFailure
from ingestion.assessment.assess import AssessedFile
from ingestion.assessment.corpus import CorpusError, prepare_corpus
from ingestion.assessment.truth import TruthError
from ingestion.core.errors import ReadingFault, StorageUnavailable

KIND = "assess_corpus"


def run_assessment_job(job: AuditJob) -> Mapping[str, Any]:
    """Assess the folder that the job names. Returns the totals and the file with the result.

    Raises ExplainedFailure if the assessment cannot run.
    """
    arguments, done = job.arguments, 0

    def report(_name: str, _result: AssessedFile) -> None:
        nonlocal done
        done += 1
        job_runs.report_progress(job, done, len(corpus.files))

    try:
        with prepare_corpus(
            find_folder(arguments["folder"]),
            site_number=arguments.get("site", ""),
            day=date.fromisoformat(arguments["day"]) if arguments.get("day") else None,
            model_name=arguments["model"],
        ) as corpus:
            job_runs.report_progress(job, 0, len(corpus.files))
            result = corpus.assess(report)
            plan = {**corpus.plan.facts, "file_sha256": dict(corpus.plan.files)}
    except (CorpusError, TruthError, ReadingFault, StorageUnavailable, OSError) as error:
        message = _("The assessment could not run: {error}").format(error=error)
        raise ExplainedFailure(message) from error
    content = {**result.content, "plan": plan}
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    path = Path(settings.EXPORT_DIR) / f"assessment-{job.pk}-{job.attempts}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        out.write(text)
        durable.sync(out)
    return {
        "path": str(path),
        "sha256": durable.hash_file(path).sha256,
        "files": len(corpus.files),
        "rules": result.content["rules"],
        "totals": result.content["totals"],
        "missed": result.missed,
    }


def list_folders() -> list[str]:
    """Return the names of the folders in ASSESSMENT_DIR, or none if it is not set."""
    base = settings.ASSESSMENT_DIR
    if base is None or not base.is_dir():
        return []
    return sorted(each.name for each in base.iterdir() if each.is_dir())


def find_folder(name: str) -> Path:
    """Return the folder of this name in ASSESSMENT_DIR.

    Raises CorpusError if there is none, or its name or a symbolic link leads out of ASSESSMENT_DIR.
    """
    base = settings.ASSESSMENT_DIR
    if base is None:
        raise CorpusError("Set ASSESSMENT_DIR to the folder that contains the corpora.")
    folder: Path = (base / name).resolve()
    if not folder.is_relative_to(base.resolve()) or not folder.is_dir():
        raise CorpusError(f"There is no folder {name!r} in ASSESSMENT_DIR.")
    return folder


def can_assess_here() -> bool:
    """Return whether this host has corpora. A host without ASSESSMENT_DIR leaves the jobs."""
    return settings.ASSESSMENT_DIR is not None
