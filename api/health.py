"""For whoever keeps the service up: `/healthz` (it runs) and `/readyz` (it can do its work)."""

from collections.abc import Callable, Iterator

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from api import problems
from api.problems import Problem
from ingestion.operations import work_status
from ingestion.storage import disk_space


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """It answers, and looks at nothing: restarting it would not mend a database."""
    return JsonResponse({"status": "ok"})


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    failing = list(_failing())
    if not failing:
        return JsonResponse({"status": "ok", "checks": sorted(_CHECKS)})
    errors = [{"field": name, "message": message} for name, message in failing]
    said = Problem(503, "Not ready.", errors=errors, headers={"Retry-After": "5"})
    return problems.answer(request, said)


def _failing() -> Iterator[tuple[str, str]]:
    for name, check in _CHECKS.items():
        try:
            message = check()
        except (DatabaseError, OSError) as error:
            # The class alone: messages of drivers name hosts and users, and this page is public.
            message = type(error).__name__
        if message:
            yield name, message


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _queue() -> str:
    seconds = work_status.get_oldest_due_seconds()
    if seconds <= settings.READY_QUEUE_SECONDS:
        return ""
    return f"work is due since {seconds:.0f} seconds, and no worker takes it"


_CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "queue": _queue,
    "disk": disk_space.describe_low_space,
}
