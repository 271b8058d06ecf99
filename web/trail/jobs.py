"""The page of a job in the background, which renews itself until it is over, as a packet's does."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response

from audit.background_jobs import AuditJob

POLL_MILLISECONDS = 2000


def is_job_done(job: AuditJob) -> bool:
    """And has its result."""
    return job.state == AuditJob.State.DONE


def render_job(
    request: HttpRequest, job: AuditJob, template: str, more: Mapping[str, Any]
) -> HttpResponse:
    """`TEMPLATE.html` is the page, `TEMPLATE_live.html` its fragment."""
    etag = f'"{job.pk}-{job.state}-{job.done}-{job.total}"'
    is_fragment = bool(request.headers.get("X-Fragment"))
    if is_fragment and (unchanged := get_conditional_response(request, etag=etag)):
        return unchanged
    live = f"{template}_live.html"
    is_over = is_job_done(job) or job.state == AuditJob.State.FAILED
    context = {
        "job": job, "is_over": is_over, "etag": etag, "poll": POLL_MILLISECONDS, "live": live,
        **more,
    }  # fmt: skip
    response = render(request, live if is_fragment else f"{template}.html", context)
    if is_fragment:
        response["ETag"] = etag
    return response
