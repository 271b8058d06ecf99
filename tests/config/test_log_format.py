"""Lines of the log have the documented keys and no personal data."""

import json
import logging
import runpy
import subprocess
import sys
from itertools import product

import pytest
from structlog.contextvars import bound_contextvars

from config.checks import check_log_settings
from config.logs import KEYS, describe_error, make_formatter

THREADS, LINES_PER_THREAD = 8, 50
WRITING_THREADS = f"""
import logging, threading, django
from structlog.contextvars import bound_contextvars
django.setup()
together = threading.Barrier({THREADS})

def write(thread):
    together.wait(60)
    with bound_contextvars(correlation_id=f"c-{{thread}}"):
        for number in range({LINES_PER_THREAD}):
            logging.getLogger("ingestion.x").warning("line %d %s", number, str(thread) * 5_000)

threads = [threading.Thread(target=write, args=[thread]) for thread in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
PERSONAL = "Jane Roe <jane.roe@hospital.example> at 192.0.2.7 and 2001:db8::7"


def make_record(name, message, *arguments, error=None, **extra):
    exc_info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord(name, logging.WARNING, __file__, 7, message, arguments, exc_info)
    record.__dict__ |= extra
    return record


def read_line(*arguments, style="json", **options):
    line = make_formatter(style).format(make_record(*arguments, **options))
    assert "\n" not in line
    return json.loads(line) if style == "json" else line


def raise_personal():
    raise ValueError(PERSONAL)


@pytest.fixture
def error():
    try:
        raise_personal()
    except ValueError as raised:
        return raised


def test_a_line_has_the_values_of_the_call_and_of_the_context_under_documented_keys_only():
    extra = {"from": "RECEIVED", "to": "VALIDATING", "seq": 7, "attempt": 0, "user": "Jane Roe"}
    with bound_contextvars(correlation_id="c-1", batch="BAT-2026-0007", code="", name="Jane Roe"):
        line = read_line("audit.ledger.entry_log", "document.checking", **extra)
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "warning", "event": "document.checking", "correlation_id": "c-1",
        "batch": "BAT-2026-0007", "from": "RECEIVED", "to": "VALIDATING", "attempt": 0, "seq": 7,
    }  # fmt: skip


def test_the_keys_of_a_line_are_in_their_documented_order():
    extra = {key: 1 for key in reversed(KEYS) if key not in ("ts", "level", "event")}
    assert tuple(read_line("ingestion.x", "an event", **extra)) == KEYS


def test_an_exception_is_described_by_its_class_and_the_places_in_the_code(error):
    event = read_line("ingestion.x", "held %s", "document:7", error=error)["event"]
    assert event.startswith("held document:7: ValueError at tests/config/test_log_format.py:")
    assert "Jane" not in event


def test_an_exception_as_argument_is_described_by_its_class(error):
    event = read_line("ingestion.x", "the database failed: %s", error)["event"]
    assert event == "the database failed: ValueError"


def test_the_exceptions_of_a_group_are_named():
    group = ExceptionGroup("Jane Roe", [ValueError("Jane"), KeyError("Roe")])
    assert describe_error(group) == "ExceptionGroup, ValueError, KeyError"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("django.request", "%s: %s", "Not Found", "/packets/Jane Roe.pdf"), "…: …"),
        (("django_q", "Jane Roe failed"), "django_q reports tests/config/test_log_format.py:7"),
        (("boto", "%d of %d sent to %s", 2, 3, "jane@example.org"), "2 of 3 sent to …"),
        (("boto", "%d %% of %s", "Jane", "Roe"), "… % of …"),
        (("boto", "%(n)d of %(who)s", {"n": 2, "who": "Jane"}), "2 of …"),
        (
            ("py.warnings", "%s", "/usr/lib/x/y.py:7: UserWarning: Jane Roe\n  Jane()"),
            "UserWarning at x/y.py:7",
        ),
        (
            ("py.warnings", "%s", "/usr/lib/x/y.py:7: UserWarning: Jane's row\n  Jane()"),
            "UserWarning at x/y.py:7",
        ),
        (("ingestion.x", "mail to jane.roe@example.org: refused"), "mail to …: refused"),
        (("ingestion.x", "from 192.0.2.7:443, 2001:db8::7 at 12:30:45"), "from …, … at 12:30:45"),
        (("ingestion.x", "version 1.11.1 of sl-worker:7"), "version 1.11.1 of sl-worker:7"),
    ],
)
@pytest.mark.parametrize("style", ["json", "text"])
def test_what_may_be_personal_data_is_left_out(style, arguments, expected):
    line = read_line(*arguments, style=style)
    assert expected in (line["event"] if style == "json" else line)
    assert "Jane" not in str(line)


def test_a_message_that_a_library_composed_is_logged_with_its_constant_text(tmp_path, caplog):
    library = tmp_path / "library.py"
    library.write_text(
        "def tell(logger, name):\n"
        "    logger.critical(\n"
        "        ('reincarnated worker %(name)s after death') % {'name': name}\n"
        "    )\n"
        "    logger.critical(f'the worker {name} is gone')\n"
        "    logger.critical(name)\n"
    )
    code = runpy.run_path(str(library))
    code["tell"](logging.getLogger("django-q"), "Jane Roe")
    lines = [json.loads(make_formatter("json").format(record)) for record in caplog.records]
    assert [line["event"].partition("library.py:")[2] for line in lines] == [
        "2: reincarnated worker … after death",
        "5: the worker",
        "6",
    ]


def test_a_refused_request_is_logged_without_its_path():
    line = read_line("django.request", "%s: %s", "Forbidden", "/x/Jane", status_code=403)
    assert line["event"] == "a request ended with HTTP status 403"


def test_lines_for_the_terminal_of_a_developer_are_complete(error):
    formatter = make_formatter("text", is_complete=True)
    line = formatter.format(make_record("ingestion.x", "held %s", "Jane Roe", error=error))
    assert "held Jane Roe" in line
    assert "Traceback (most recent call last)" in line
    assert PERSONAL in line
    complete = make_formatter("json", is_complete=True)
    assert PERSONAL not in complete.format(make_record("ingestion.x", "held", error=error))


def test_the_default_is_json_unless_a_person_reads_the_terminal(settings):
    assert not sys.stderr.isatty()
    assert settings.LOG_FORMAT == "json"
    assert settings.LOGGING["formatters"]["line"]["style"] == "json"


def test_threads_write_whole_lines_with_the_context_of_their_own():
    written = subprocess.run(
        [sys.executable, "-c", WRITING_THREADS], check=True, capture_output=True, text=True
    )
    lines = [json.loads(line) for line in written.stderr.splitlines()]
    found = sorted((line["correlation_id"], line["event"].split()[1:]) for line in lines)
    assert found == sorted(
        (f"c-{thread}", [str(number), str(thread) * 5_000])
        for thread, number in product(range(THREADS), range(LINES_PER_THREAD))
    )


def test_wrong_settings_of_the_log_are_reported(settings, monkeypatch):
    settings.LOG_FORMAT = "xml"
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:4318"
    monkeypatch.setattr("config.checks.find_spec", lambda _name: None)
    assert [each.id for each in check_log_settings()] == ["config.E006", "config.E007"]
    settings.LOG_FORMAT, settings.OTEL_EXPORTER_OTLP_ENDPOINT = "text", ""
    assert not check_log_settings()
