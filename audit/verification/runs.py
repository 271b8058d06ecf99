"""Verifications that are kept: who asked, what was read, what was found.

A row for each, so that the next one knows where to begin. An entry `ledger.verified` for each that
a person asked for, and always when something is wrong.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import product
from typing import Any

from django.db import DatabaseError, connection
from django.utils import timezone

from audit import background_jobs
from audit.ledger import queries
from audit.ledger.actors import PERSON, Actor
from audit.ledger.chain import NotCanonical
from audit.ledger.log import LedgerError, ledger, record
from audit.models import AuditJob, CheckRun
from audit.verification.scan import Progress
from audit.verification.start import Mode
from audit.verification.verify import LedgerVerdict, verify_ledger

logger = logging.getLogger(__name__)

KIND = "verify"
BATCH_CHECK_DELAY = timedelta(seconds=30)  # batches that end within it share a check
MAX_FINDINGS_PER_ENTRY = 20  # findings that an entry names; the row has them all
FULL_CHECKS_KEPT = 10  # full checks that stay, however old they are
ROWS_PER_DELETE = 500  # rows that one statement removes
MAX_ENTRIES_CHECKED_NIGHTLY = (
    1_000_000  # entries: reading so many takes half a minute (docs/benchmarks)
)
FULL_CHECK_INTERVAL = timedelta(days=6, hours=12)  # of a longer trail: each seventh night
_HOLDING = (CheckRun.Result.INTACT, CheckRun.Result.UNANCHORED)  # results without a fault


def run_check(
    mode: Mode,
    *,
    asked_by: str,
    with_anchors: bool = True,
    progress: Progress = lambda _done, _total: None,
) -> tuple[LedgerVerdict, CheckRun]:
    """Verify, and keep what was found. Database errors of the reading pass through."""
    began_at = timezone.now()
    verdict = verify_ledger(mode, with_anchors=with_anchors, progress=progress)
    again_from, again_to = verdict.again or (None, None)
    columns = {
        "began_at": began_at,
        "seconds": verdict.seconds,
        "mode": mode,
        "from_seq": verdict.from_seq,
        "to_seq": verdict.entries,
        "head": verdict.head,
        "again_from": again_from,
        "again_to": again_to,
        "entries_read": verdict.entries_read,
        # Only what stands without reservations is worth the name, whatever was read of the rest.
        "vouched_to": 0 if with_anchors and verdict.unanchored else verdict.vouched_to,
        "result": verdict.result,
        "findings": list_findings(verdict),
        "asked_by": asked_by,
    }
    run = _kept(columns, is_entered=asked_by.startswith(PERSON) or not verdict.intact)
    if not verdict.intact:
        logger.critical("the ledger does not hold: %s", run.findings[0])
    return verdict, run


def list_findings(verdict: LedgerVerdict) -> list[str]:
    """All that was found, the worst first."""
    bad = verdict.first_bad
    broken = [f"Entry {bad.seq:,}: {bad.why} ({bad.expected} / {bad.found})."] if bad else []
    return [*broken, *verdict.problems, *verdict.own_word, *verdict.notices]


def check_after_batch() -> None:
    """Have what is new checked soon: once, when many batches end together."""
    arguments = {"mode": Mode.INCREMENTAL.value, "with_anchors": False}
    background_jobs.schedule_job(KIND, arguments, delay=BATCH_CHECK_DELAY)


def run_nightly_check() -> None:
    """Have all entries read; of a long trail each week, and a part of them on the other nights."""
    entries, _ = queries.last_entry() or (0, "")
    lately = timezone.now() - FULL_CHECK_INTERVAL
    read_lately = CheckRun.objects.filter(mode=Mode.FULL, began_at__gt=lately).exists()
    is_partial = entries > MAX_ENTRIES_CHECKED_NIGHTLY and read_lately
    background_jobs.schedule_job(KIND, {"mode": (Mode.ROLLING if is_partial else Mode.FULL).value})


def request_check(actor: str, mode: Mode = Mode.FULL) -> AuditJob:
    """A person asked. The job tells how far it is; its result names the CheckRun."""
    return background_jobs.request_job(KIND, {"mode": mode.value}, actor)


def find_run(pk: int) -> CheckRun | None:
    return CheckRun.objects.filter(pk=pk).first()


def latest_runs(count: int) -> list[CheckRun]:
    """The newest so many, whoever asked for them."""
    return list(CheckRun.objects.all()[:count])


def remove_old_runs(before: datetime) -> int:
    """Remove checks that began before and found no fault. Answers how many.

    The newest of each mode and result stay, `FULL_KEPT` of the full ones. The database lets no
    fault go, nor the last of a mode and result.
    """
    outlived = _outlived(before)
    for start in range(0, len(outlived), ROWS_PER_DELETE):
        _remove(outlived[start : start + ROWS_PER_DELETE])
    return len(outlived)


def run_check_job(job: AuditJob) -> dict[str, Any]:
    """Verify as the job asks, and return which CheckRun has what was found."""
    verdict, run = run_check(
        Mode(job.arguments["mode"]),
        asked_by=job.asked_by,
        with_anchors=job.arguments.get("with_anchors", True),
        progress=partial(background_jobs.report_progress, job),
    )
    return {"run": run.pk, "result": run.result, "entries": verdict.entries}


def _kept(columns: Mapping[str, Any], *, is_entered: bool) -> CheckRun:
    """A verdict is given in any case: to who may only read, and of a ledger that takes no entry."""
    try:
        with ledger():
            run = CheckRun.objects.create(**columns)
            if is_entered:
                _enter(run)
    except (LedgerError, NotCanonical, DatabaseError, ValueError):
        logger.exception("what was found could not be entered in the ledger")
    else:
        return run
    try:
        return CheckRun.objects.create(**columns)
    except DatabaseError:
        logger.exception("what was found could not be kept")
        return CheckRun(**columns)


def _outlived(before: datetime) -> list[int]:
    holding = CheckRun.objects.filter(result__in=_HOLDING).order_by("-pk")
    kept = [
        pk
        for mode, result in product(Mode, _HOLDING)
        for pk in holding.filter(mode=mode, result=result).values_list("pk", flat=True)[
            : FULL_CHECKS_KEPT if mode is Mode.FULL else 1
        ]
    ]
    old = holding.filter(began_at__lt=before).exclude(pk__in=kept)
    return list(old.values_list("pk", flat=True))


def _remove(checks: list[int]) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT audit_forget(%s)", [checks])
        else:
            marks = ", ".join(["%s"] * len(checks))
            cursor.execute(f"DELETE FROM audit_checkrun WHERE id IN ({marks})", checks)  # noqa: S608 - marks


def _enter(run: CheckRun) -> None:
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
