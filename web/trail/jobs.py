"""Renders the page of a background job, with its progress until it ends."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response

from audit import job_estimates
from audit.background_jobs import AuditJob

POLL_MILLISECONDS = 2000


def is_job_done(job: AuditJob) -> bool:
    """Return whether the job ended with a result."""
    return job.state == AuditJob.State.DONE


def render_job(
    request: HttpRequest, job: AuditJob, template: str, extra_context: Mapping[str, Any]
) -> HttpResponse:
    """Return the page `<template>.html`, or its fragment `<template>_live.html` for `poll.js`.

    While nothing has changed, the answer to a request for the fragment is 304.
    """
    is_cancelled = job.cancel_requested_at is not None
    etag = f'"{job.pk}-{job.state}-{job.done}-{job.total}-{int(is_cancelled)}"'
    is_fragment = bool(request.headers.get("X-Fragment"))
    if is_fragment and (unchanged := get_conditional_response(request, etag=etag)):
        return unchanged
    fragment = f"{template}_live.html"
    context = {
        "job": job,
        "is_over": job.is_final,
        "estimate": job_estimates.estimate_job(job),
        "etag": etag,
        "poll": POLL_MILLISECONDS,
        "fragment": fragment,
        **extra_context,
    }
    response = render(request, fragment if is_fragment else f"{template}.html", context)
    if is_fragment:
        response["ETag"] = etag
    return response
