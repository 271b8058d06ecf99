"""Refused requests are logged in one line, and internal errors with a traceback."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404
from django.test.client import Client
from django.urls import path

from config.logs import RefusedRequestFilter
from config.urls import urlpatterns as pages


def fail_with(error):
    @login_not_required
    def view(_request):
        raise error

    return view


urlpatterns = [
    path("denied/", fail_with(PermissionDenied("no"))),
    path("bad/", fail_with(BadRequest("no"))),
    path("suspicious/", fail_with(SuspiciousOperation("no"))),
    path("missing/", fail_with(Http404("no"))),
    path("broken/", fail_with(RuntimeError("ours"))),
    *pages,  # the pages of errors link to them
]


@pytest.fixture
def logged(caplog):
    caplog.handler.addFilter(RefusedRequestFilter())
    caplog.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    return caplog


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("page", ["denied", "bad", "suspicious", "missing"])
def test_a_refused_page_logs_one_line(db, logged, page):
    assert 400 <= Client().get(f"/{page}/").status_code < 500
    assert "Traceback" not in logged.text
    assert len(logged.text.splitlines()) == 1


@pytest.mark.urls(__name__)
def test_an_internal_error_is_logged_with_its_traceback(db, logged):
    Client(raise_request_exception=False).get("/broken/")
    assert "RuntimeError: ours" in logged.text
    assert "Traceback" in logged.text


@pytest.mark.slow
def test_a_refused_page_is_logged_once_in_debug_mode(tmp_path):
    code = (
        "import django; django.setup()\n"
        "from django.utils.log import log_response\n"
        "from django.http import HttpResponse, HttpRequest\n"
        "from django.core.exceptions import PermissionDenied\n"
        "try:\n"
        "    raise PermissionDenied\n"
        "except PermissionDenied as error:\n"
        "    refused = HttpResponse(status=403)\n"
        "    log_response('refused', response=refused, request=HttpRequest(), exception=error)\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env=os.environ
        | {
            "DEBUG": "True",
            "DATA_DIR": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
        check=True,
        capture_output=True,
        text=True,
    )
    assert completed.stderr.count("refused") == 1
    assert "Traceback" not in completed.stderr


def test_every_handler_removes_the_traceback_of_refusals(settings):
    for handler in settings.LOGGING["handlers"].values():
        assert "refusals" in handler["filters"]
