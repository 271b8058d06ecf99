"""The log says what was refused in one line, and shows where a fault of our own is."""

import logging

import pytest
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404
from django.test.client import Client
from django.urls import path

from config.logs import RefusalsInOneLine
from config.urls import urlpatterns as pages


def fail_with(error):
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
    caplog.handler.addFilter(RefusalsInOneLine())
    caplog.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    return caplog


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("page", ["denied", "bad", "suspicious", "missing"])
def test_a_refused_page_logs_one_line(db, logged, page):
    assert 400 <= Client().get(f"/{page}/").status_code < 500
    assert "Traceback" not in logged.text
    assert len(logged.text.splitlines()) == 1


@pytest.mark.urls(__name__)
def test_a_fault_of_our_own_is_logged_with_its_place(db, logged):
    Client(raise_request_exception=False).get("/broken/")
    assert "RuntimeError: ours" in logged.text
    assert "Traceback" in logged.text


def test_every_handler_of_the_settings_leaves_the_traceback_of_refusals_out(settings):
    for handler in settings.LOGGING["handlers"].values():
        assert "refusals" in handler["filters"]
