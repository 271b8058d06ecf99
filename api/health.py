"""Answers monitoring probes: `/healthz` (the process runs) and `/readyz` (it can do its work)."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from api.http.problems import Problem, make_problem_response
from ingestion.operations import work_status
from ingestion.storage import disk_space

RETRY_AFTER_SECONDS = 5


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Respond without any check: a restart of this process would not repair a database."""
    return JsonResponse({"status": "ok"})


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Respond with 200 if all checks pass, else with 503 and the failed checks."""
    errors = []
    for name, check in _CHECKS.items():
        try:
            message = check()
        except (DatabaseError, OSError) as error:
            # Messages of drivers contain hosts and users, and this page is public.
            message = type(error).__name__
        if message:
            errors.append({"field": name, "message": message})
    if not errors:
        return JsonResponse({"status": "ok", "checks": sorted(_CHECKS)})
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    problem = Problem(503, "The service is not ready.", errors=errors, headers=headers)
    return make_problem_response(request, problem)


def _check_database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def _check_queue() -> str:
    seconds = work_status.get_oldest_due_seconds()
    if seconds <= settings.READY_QUEUE_SECONDS:
        return ""
    return f"work has been due for {seconds:.0f} seconds, and no worker has claimed it"


# Each check returns what is wrong, or "".
_CHECKS: dict[str, Callable[[], str]] = {
    "database": _check_database,
    "queue": _check_queue,
    "disk": disk_space.describe_low_space,
}
