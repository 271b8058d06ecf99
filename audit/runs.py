"""Verifications that are kept: who asked, what was read, what was found.

A row for each, so that the next one knows where to begin. An entry `ledger.verified` for each that
a person asked for, and always when something is wrong.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import DatabaseError, connection
from django.utils import timezone

from audit import jobs
from audit.chain import NotCanonical
from audit.log import LedgerError, ledger, record
from audit.models import AuditJob, CheckRun
from audit.reading import Progress
from audit.starts import Mode
from audit.verify import Verdict, verify

logger = logging.getLogger(__name__)

KIND = "verify"
COALESCED = timedelta(seconds=30)  # batches that end within it share a check
NAMED = 20  # findings that an entry names; the row has them all
FULL_KEPT = 10  # full checks that stay, however old they are
AT_ONCE = 500  # rows that one statement removes
_Result = CheckRun.Result


def check(
    mode: Mode,
    *,
    asked_by: str,
    with_anchors: bool = True,
    progress: Progress = lambda _done, _total: None,
) -> tuple[Verdict, CheckRun]:
    """Verify, and keep what was found. Database errors of the reading pass through."""
    began_at = timezone.now()
    verdict = verify(mode, with_anchors=with_anchors, progress=progress)
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
        "result": _result(verdict),
        "findings": findings(verdict),
        "asked_by": asked_by,
    }
    run = _kept(columns, is_entered=asked_by.startswith("user:") or not verdict.intact)
    if not verdict.intact:
        logger.critical("the ledger does not hold: %s", run.findings[0])
    return verdict, run


def findings(verdict: Verdict) -> list[str]:
    """All that was found, the worst first."""
    bad = verdict.first_bad
    broken = [f"Entry {bad.seq:,}: {bad.why} ({bad.expected} / {bad.found})."] if bad else []
    return [*broken, *verdict.problems, *verdict.unanchored, *verdict.notices]


def after_a_batch() -> None:
    """Have what is new checked soon: once, when many batches end together."""
    arguments = {"mode": Mode.INCREMENTAL.value, "with_anchors": False}
    jobs.run_later(KIND, arguments, delay=COALESCED)


def nightly() -> None:
    """Have what is new checked, and a part of what is older, so that all is read each week."""
    jobs.run_later(KIND, {"mode": Mode.ROLLING.value})


def check_now(actor: str, mode: Mode = Mode.INCREMENTAL) -> AuditJob:
    """A person asked. The job tells how far it is; its result names the CheckRun."""
    return jobs.ask(KIND, {"mode": mode.value}, actor)


def find(pk: int) -> CheckRun | None:
    return CheckRun.objects.filter(pk=pk).first()


def latest(count: int) -> list[CheckRun]:
    """The newest so many, whoever asked for them."""
    return list(CheckRun.objects.all()[:count])


def forget(before: datetime) -> int:
    """Remove checks that began before and found nothing. Answers how many.

    The newest of each kind stay, `FULL_KEPT` of the full ones. The database lets no finding go, nor
    the last of a kind.
    """
    outlived = _outlived(before)
    for start in range(0, len(outlived), AT_ONCE):
        _remove(outlived[start : start + AT_ONCE])
    return len(outlived)


def work(job: AuditJob) -> dict[str, Any]:
    """Verify as the job asks, and return which CheckRun has what was found."""
    verdict, run = check(
        Mode(job.arguments["mode"]),
        asked_by=job.asked_by,
        with_anchors=job.arguments.get("with_anchors", True),
        progress=partial(jobs.progress, job),
    )
    return {"run": run.pk, "result": run.result, "entries": verdict.entries}


def _result(verdict: Verdict) -> CheckRun.Result:
    if not verdict.intact:
        return _Result.BROKEN
    return _Result.UNANCHORED if verdict.unanchored else _Result.INTACT


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
    intact = CheckRun.objects.filter(result=_Result.INTACT).order_by("-pk")
    kept = [
        pk
        for mode in Mode
        for pk in intact.filter(mode=mode).values_list("pk", flat=True)[: _kept_of(mode)]
    ]
    old = intact.filter(began_at__lt=before).exclude(pk__in=kept)
    return list(old.values_list("pk", flat=True))


def _kept_of(mode: Mode) -> int:
    return FULL_KEPT if mode is Mode.FULL else 1


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
        n=1,
        actor=run.asked_by,
        code=run.result.upper(),
        detail={
            "mode": run.mode,
            "from_seq": run.from_seq,
            "to_seq": run.to_seq,
            "head": run.head,
            "findings": run.findings[:NAMED],
        },
    )
