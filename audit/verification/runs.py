"""Runs verifications and stores who requested them, what they read and what they found.

Each verification is stored as a row, from which the next one learns where to begin. A verification
that a person or a program requested, or that found a fault, is also recorded as an entry
`ledger.verified`.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import product
from typing import Any

from django.db import DatabaseError, connection
from django.utils import timezone
from django.utils.translation import gettext as _

from audit import background_jobs, job_runs
from audit.ledger import queries
from audit.ledger.actors import SYSTEM, Actor
from audit.ledger.chain import NotCanonical
from audit.ledger.log import LedgerError, ledger, record
from audit.models import AuditJob, CheckRun
from audit.verification.scan import Progress
from audit.verification.start import Mode
from audit.verification.verify import LedgerVerdict, verify_ledger

logger = logging.getLogger(__name__)

KIND = "verify"
BATCH_CHECK_DELAY = timedelta(seconds=30)  # batches that end within this time share a check
MAX_FINDINGS_PER_ENTRY = 20  # the row has all findings
FULL_CHECKS_KEPT = 10  # whatever their age
ROWS_PER_DELETE = 500  # rows that one statement removes
MAX_ENTRIES_CHECKED_NIGHTLY = 1_000_000  # reading them takes half a minute (docs/benchmarks)
FULL_CHECK_INTERVAL = timedelta(days=6, hours=12)  # of a longer trail: every seventh night
_RESULTS_WITHOUT_FAULT = (
    CheckRun.Result.INTACT,
    CheckRun.Result.UNANCHORED,
)  # results without a fault


def run_check(
    mode: Mode,
    *,
    asked_by: str,
    with_anchors: bool = True,
    progress: Progress = lambda _done, _total: None,
) -> tuple[LedgerVerdict, CheckRun]:
    """Verify the ledger and store the result. Database errors while reading are not caught."""
    began_at = timezone.now()
    verdict = verify_ledger(mode, with_anchors=with_anchors, progress=progress)
    reread_from, reread_to = verdict.reread or (None, None)
    columns = {
        "began_at": began_at,
        "seconds": verdict.seconds,
        "mode": mode,
        "from_seq": verdict.from_seq,
        "to_seq": verdict.entries,
        "head": verdict.head,
        "reread_from": reread_from,
        "reread_to": reread_to,
        "entries_read": verdict.entries_read,
        # With a reservation, no anchor vouches for the ledger, whatever was read.
        "vouched_to": 0 if with_anchors and verdict.unanchored else verdict.vouched_to,
        "result": verdict.result,
        "findings": list_findings(verdict),
        "asked_by": asked_by,
    }
    run = _store_run(columns, is_entered=not asked_by.startswith(SYSTEM) or not verdict.intact)
    if not verdict.intact:
        logger.critical("the ledger is broken: %s", run.findings[0])
    return verdict, run


def list_findings(verdict: LedgerVerdict) -> list[str]:
    """Return all findings as sentences, the most serious first."""
    broken = []
    if bad := verdict.first_bad:
        sentence = _("Entry {seq}: {why} ({expected} / {found}).")
        values = {"why": bad.why, "expected": bad.expected, "found": bad.found}
        broken = [sentence.format(seq=f"{bad.seq:,}", **values)]
    return [*broken, *verdict.problems, *verdict.unconfirmed, *verdict.notices]


def check_after_batch() -> None:
    """Schedule a check of new entries. Batches that end together share one check."""
    arguments = {"mode": Mode.INCREMENTAL.value, "with_anchors": False}
    background_jobs.schedule_job(KIND, arguments, delay=BATCH_CHECK_DELAY)


def run_nightly_check() -> None:
    """Schedule a full check. Of a long trail, schedule it weekly, and on other nights a part."""
    entries, _hash = queries.get_last_entry() or (0, "")
    recently = timezone.now() - FULL_CHECK_INTERVAL
    was_read_recently = CheckRun.objects.filter(mode=Mode.FULL, began_at__gt=recently).exists()
    is_partial = entries > MAX_ENTRIES_CHECKED_NIGHTLY and was_read_recently
    background_jobs.schedule_job(KIND, {"mode": (Mode.ROLLING if is_partial else Mode.FULL).value})


def request_check(by: Actor, mode: Mode = Mode.FULL) -> AuditJob:
    """Request a check for a person. The job has its progress; its result names the CheckRun."""
    parameters = {"mode": mode.value}
    return background_jobs.request_job(KIND, parameters, by, parameters=parameters)


def measure_check(arguments: Mapping[str, Any]) -> int:
    """Return how many entries a check with these arguments reads, at least."""
    entries, _hash = queries.get_last_entry() or (0, "")
    if arguments["mode"] == Mode.FULL:
        return entries
    last = CheckRun.objects.first()
    return max(entries - (last.to_seq if last else 0), 0)


def find_run(pk: int) -> CheckRun | None:
    """Return the verification with this primary key, or None."""
    return CheckRun.objects.filter(pk=pk).first()


def list_latest_runs(count: int) -> list[CheckRun]:
    """Return the newest checks, by persons and by the program."""
    return list(CheckRun.objects.all()[:count])


def remove_old_runs(before: datetime) -> int:
    """Delete checks without faults that began before a time, and return their number.

    The newest check of each mode and result is kept, and FULL_CHECKS_KEPT full checks. The database
    refuses to delete a check with a fault, or the last one of a mode and result.
    """
    faultless = CheckRun.objects.filter(result__in=_RESULTS_WITHOUT_FAULT).order_by("-pk")
    kept = [
        pk
        for mode, result in product(Mode, _RESULTS_WITHOUT_FAULT)
        for pk in faultless.filter(mode=mode, result=result).values_list("pk", flat=True)[
            : FULL_CHECKS_KEPT if mode is Mode.FULL else 1
        ]
    ]
    old = faultless.filter(began_at__lt=before).exclude(pk__in=kept)
    expired = list(old.values_list("pk", flat=True))
    for start in range(0, len(expired), ROWS_PER_DELETE):
        part = expired[start : start + ROWS_PER_DELETE]
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT audit_forget(%s)", [part])
            else:
                marks = ", ".join(["%s"] * len(part))
                cursor.execute(f"DELETE FROM audit_checkrun WHERE id IN ({marks})", part)  # noqa: S608 - marks
    return len(expired)


def run_check_job(job: AuditJob) -> dict[str, Any]:
    """Run the verification of a job, and return the key and result of its CheckRun."""
    verdict, run = run_check(
        Mode(job.arguments["mode"]),
        asked_by=job.asked_by,
        with_anchors=job.arguments.get("with_anchors", True),
        progress=partial(job_runs.report_progress, job),
    )
    return {"run": run.pk, "result": run.result, "entries": verdict.entries}


def _store_run(columns: Mapping[str, Any], *, is_entered: bool) -> CheckRun:
    """Store a verdict, and return its row.

    If the ledger or the database refuses to store it, return an unsaved row, so that the verdict is
    still reported.
    """
    try:
        with ledger():
            run = CheckRun.objects.create(**columns)
            if is_entered:
                record(
                    "ledger.verified",
                    subject=f"check:{run.pk}",
                    by=Actor(run.asked_by),
                    code=run.result.upper(),
                    detail={
                        "mode": run.mode,
                        "from_seq": run.from_seq,
                        "to_seq": run.to_seq,
                        "head": run.head,
                        "findings": run.findings[:MAX_FINDINGS_PER_ENTRY],
                    },
                )
    except (LedgerError, NotCanonical, DatabaseError, ValueError):
        logger.exception("the verdict could not be recorded in the ledger")
    else:
        return run
    try:
        return CheckRun.objects.create(**columns)
    except DatabaseError:
        logger.exception("the verdict could not be stored")
        return CheckRun(**columns)
