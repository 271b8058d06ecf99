"""Records assessments in the ledger: that one begins, with its criteria, and its signed result.

The first entry is written before the first file is read. It shows that the criteria were fixed
before the results were known (EU Annex 22, draft: independent test data, criteria fixed
beforehand). The result is a file in the archive, and the signed entry contains its SHA-256.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from audit import electronic_signatures
from audit.electronic_signatures import ElectronicSignature
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.log import ledger, normalize_text, record, write_time
from audit.ledger.queries import Recorded
from audit.verification.single_entry_check import compare_with_entries
from ingestion.assessment.truth import Criteria
from ingestion.models import Assessment
from ingestion.storage.archive import get_archive
from sites.models import User

STARTED, SIGNED = "assessment.started", "assessment.signed"
PERMISSION = "ingestion.sign_assessment"
MEANING = "I ran this assessment, and I confirm its result."
ROW_KEY = "row_values"  # in the detail of the entry: the values of the row


@dataclass(frozen=True, slots=True)
class AssessmentPlan:
    """States the files and the criteria of an assessment. It is fixed before the run."""

    files: Mapping[str, str]  # the SHA-256 of each file, by name
    criteria: Criteria
    rules_version: str
    truth_sha256: str = ""  # "" without a truth file
    site: str = ""
    day: str = ""  # for which validity is judged, as 2026-11-20

    @property
    def corpus_sha256(self) -> str:
        """Return the SHA-256 of lines like those of `sha256sum`, sorted by file name."""
        lines = (f"{digest}  {name}\n" for name, digest in sorted(self.files.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts that both entries state.

        Values are texts and integers, as signatures need them.
        """
        return {
            "corpus": self.corpus_sha256,
            "truth": self.truth_sha256,
            "files": len(self.files),
            "criteria": _as_lines(self.criteria.model_dump()),
            "assessed_rules": self.rules_version,
            "assessed_site": self.site,
            "day": self.day,
        }


def record_start(plan: AssessmentPlan, *, by: User) -> str:
    """Record that an assessment begins, and return the subject of the entry.

    `by` is the person who is going to sign the result.
    """
    subject = f"assessment-run:{uuid4()}"
    with ledger():
        record(
            STARTED,
            subject=subject,
            by=Actor.software("assess_corpus", OPERATIONS),
            sha256=plan.corpus_sha256,
            rules=plan.rules_version,
            detail={**plan.facts, "for": by.actor_name},
        )
    return subject


def sign_result(
    plan: AssessmentPlan,
    result: Mapping[str, Any],
    *,
    run: str,
    user: User,
    by: ElectronicSignature,
) -> Assessment:
    """Store the result in the archive, and record it with its signature, in one transaction.

    `result` is the JSON of `assess_corpus`; `run` is what `record_start` returned. Raises
    StorageUnavailable.
    """
    content = json.dumps(
        {**result, "plan": {**plan.facts, "file_sha256": dict(plan.files)}},
        indent=1,
        ensure_ascii=False,
        sort_keys=True,
    ).encode()
    sha256 = hashlib.sha256(content).hexdigest()
    with tempfile.NamedTemporaryFile(prefix="siteledger-assessment-") as local:
        local.write(content)
        local.flush()
        get_archive().put(Path(local.name), sha256)
    with ledger():
        row: Assessment = Assessment.objects.create(
            sha256=sha256,
            corpus_sha256=plan.corpus_sha256,
            truth_sha256=plan.truth_sha256,
            rules_version=plan.rules_version,
            files=len(plan.files),
            is_passed=not result["missed"],
            signed_by=user,
            printed_name=by.printed_name,
            meaning=by.meaning,
            signed_at=by.at,
        )
        facts = {
            **plan.facts,
            "run": run,
            "totals": _as_lines(result["totals"]),
            "missed": list(result["missed"]),
        }
        row.record_at_revision(
            SIGNED,
            by=by.signer,
            sha256=sha256,
            code="PASSED" if row.is_passed else "MISSED",
            rules=plan.rules_version,
            occurred_at=by.at,
            detail={**by.sign(facts, sha256=sha256), ROW_KEY: _row_facts(row)},
        )
    return row


def verify_assessments(_since: int = 0) -> Iterator[str]:
    """Yield a sentence for each assessment that differs from its entry, or that one of them lacks.

    This is a check of `audit.verification.verify`.
    """
    rows = {row.subject: row for row in Assessment.objects.all()}
    difference = _("{subject} is not as it was signed.")
    yield from compare_with_entries(rows, [SIGNED], _is_as_signed, difference)


def _is_as_signed(row: Assessment, entry: Recorded) -> bool:
    """Return whether a row is as in its entry. A redacted detail leaves its digest to compare."""
    if row.sha256 != entry.sha256:
        return False
    if entry.is_redacted or entry.detail is None:
        return entry.is_redacted
    is_signed = electronic_signatures.is_signature_intact(
        entry.detail, entry.sha256, write_time(entry.occurred_at)
    )
    return is_signed and entry.detail.get(ROW_KEY) == normalize_text(_row_facts(row))


def _row_facts(row: Assessment) -> dict[str, Any]:
    return {
        "corpus": row.corpus_sha256,
        "truth": row.truth_sha256,
        "rules": row.rules_version,
        "files": row.files,
        "is_passed": row.is_passed,
        "signed_by": row.signed_by_id,
        "printed_name": row.printed_name,
        "signed_at": write_time(row.signed_at),
    }


def _as_lines(values: Mapping[str, Any]) -> list[str]:
    """Return lines such as "recognised = 0.95". Entries contain neither floats nor free names."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
