"""Formats the log without personal data: JSON lines for programs, readable lines for a terminal.

Every line has some of `KEYS`, and no other key. The values come from three places: structlog's
context (`correlation_id`, and the document and its batch while a worker has it in hand), the
`extra` of the call, and the message. docs/logs.md lists events and keys.

What could be personal data is left out here, in one place, for all loggers and both formats:

- The message of an exception, which may quote values of a row, an address or a page. The line has
  its class, and the place in the code of each call.
- Arguments of messages of libraries, except numbers, and messages that a library has composed
  already. The line names the logger and the place in its code instead.
- Email and IP addresses, wherever they are.

Messages of our own packages are written without personal data. `tests/config/test_log_messages.py`
lists the values that they may contain.

With DEBUG, lines for a terminal are complete, because a development system has no personal data.
This module imports no Django, because parser processes use it.
"""

import ast
import linecache
import logging
import re
import sys
import traceback
from collections.abc import MutableMapping
from functools import cache
from http import HTTPMethod
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import orjson
import structlog
from structlog.contextvars import merge_contextvars

KEYS = (
    "ts",
    "level",
    "event",
    "correlation_id",
    "study",
    "site",
    "packet",
    "batch",
    "document",
    "from",
    "to",
    "code",
    "attempt",
    "worker",
    "ms",
    "seq",
    "head",
)
OWN_PACKAGES = frozenset({"api", "audit", "config", "ingestion", "qualification", "sites", "web"})
MAX_FRAMES = 12  # of a traceback, the innermost ones
_ROOT = Path(__file__).resolve().parent.parent
_CONVERSION = re.compile(r"%(?:\(\w+\))?[-#0 +]*[\d*]*(?:\.[\d*]+)?[hlL]?([a-zA-Z%])")
# What may be an address. It begins where a run of such characters begins: without the first part,
# the time for a long run without a dot would grow with the square of its length.
_TOKEN = re.compile(r"(?<![\w.:%+@-])[\w.:%+@-]*[.:@][\w.:%+@-]*")
# How Python formats a warning: file, line and category precede the message.
_WARNING = re.compile(r"(.+?):(\d+): (\w+): ").match
LEFT_OUT = "…"

EventDict = MutableMapping[str, Any]


class RefusedRequestFilter(logging.Filter):
    """Removes the traceback from the log records of refused requests (status 400 to 499).

    Django logs the exception that refused a request. Its traceback tells nothing about the request,
    and a stranger could fill the log with tracebacks.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= getattr(record, "status_code", 0) < 500:
            record.exc_info = record.exc_text = None
        return True


def make_formatter(style: str, *, is_complete: bool = False) -> logging.Formatter:
    """Return the formatter for `style`, which is "json" or "text".

    With `is_complete`, lines for a terminal have messages and tracebacks as they are.
    """
    is_complete = is_complete and style == "text"
    renderer: Any = (
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            timestamp_key="ts",
            exception_formatter=structlog.dev.plain_traceback,
            sort_keys=False,
        )
        if style == "text"
        else structlog.processors.JSONRenderer(serializer=_to_json)
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.stdlib.ExtraAdder(allow=KEYS),
        ],
        processors=[
            _complete_event if is_complete else _describe_event,
            _select_keys,
            renderer,
        ],
        use_get_message=False,
        pass_foreign_args=True,
    )


def describe_error(error: BaseException) -> str:
    """Return the class of an exception and where it was raised, without its message."""
    frames = [
        f"{_shorten_path(frame.filename)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    ]
    causes = [type(error).__name__]
    if isinstance(error, BaseExceptionGroup):
        causes += [type(each).__name__ for each in error.exceptions]
    place = f" at {' > '.join(frames)}" if frames else ""
    return f"{', '.join(causes)}{place}"


def _complete_event(logger: Any, method: str, event: EventDict) -> EventDict:
    event["event"] = event["_record"].msg % _arguments(event)
    return event


def _describe_event(logger: Any, method: str, event: EventDict) -> EventDict:
    """Replace message, arguments and exception by text without personal data."""
    record: logging.LogRecord = event["_record"]
    if record.name.partition(".")[0] in OWN_PACKAGES:
        text = _format(str(record.msg), _arguments(event), _describe_own)
    elif record.name == "py.warnings" and (found := _WARNING(str(record.msg) % _arguments(event))):
        text = f"{found[3]} at {_shorten_path(found[1])}:{found[2]}"
    elif status := getattr(record, "status_code", 0):
        text = f"a request ended with HTTP status {status}{_describe_route(record)}"
        event["code"] = status
    elif record.msg and event["positional_args"]:
        text = _format(str(record.msg), _arguments(event), _describe_foreign)
    else:
        text = f"{record.name} reports {_shorten_path(record.pathname)}:{record.lineno}"
        if constant := _read_constant_text(record.pathname, record.lineno):
            text = f"{text}: {constant}"
    exc_info = event.pop("exc_info", None)
    if exc_info and exc_info[1] is not None:
        text = f"{text}: {describe_error(exc_info[1])}"
    event["event"] = _TOKEN.sub(_hide_address, text)
    return event


def _describe_route(record: logging.LogRecord) -> str:
    """Return the method and the route of a refused request, as far as they are known.

    A route is a pattern of `urlpatterns`, such as `packets/<str:reference>/`. The path may contain
    personal data.
    """
    request = getattr(record, "request", None)  # django.server logs a socket in its place
    match, method = getattr(request, "resolver_match", None), getattr(request, "method", "")
    words = [method if method in HTTPMethod.__members__ else "", match.route if match else ""]
    return f": {' '.join(filter(None, words))}" if match else ""


@cache
def _read_constant_text(filename: str, lineno: int) -> str:
    """Return the constant text of the first argument of the call in this line of a library.

    Its values are left out. Returns "" if there is no such text, or no source.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return ""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    call = next((node for node in calls if node.lineno == lineno), None)
    parts = ast.walk(call.args[0]) if call else ()
    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
    template = next((text for text in texts if isinstance(text, str) and " " in text), "")
    return _CONVERSION.sub(LEFT_OUT, template).strip()


def _arguments(event: EventDict) -> tuple[Any, ...] | dict[str, Any]:
    arguments = event.get("positional_args") or ()
    return arguments if isinstance(arguments, dict) else tuple(arguments)


def _format(template: str, arguments: tuple[Any, ...] | dict[str, Any], describe: Any) -> str:
    """Return the message with each argument as `describe` returns it."""
    if not arguments:
        return template
    described: Any = (
        {name: describe(each) for name, each in arguments.items()}
        if isinstance(arguments, dict)
        else tuple(map(describe, arguments))
    )
    try:
        text: str = template % described
    except (TypeError, ValueError):  # A number was described by a word, or the call has an error.
        text = _CONVERSION.sub(lambda found: "%" if found[1] == "%" else LEFT_OUT, template)
    return text


def _describe_own(value: Any) -> Any:
    return type(value).__name__ if isinstance(value, BaseException) else value


def _describe_foreign(value: Any) -> Any:
    return value if isinstance(value, int | float) else LEFT_OUT


def _hide_address(found: re.Match[str]) -> str:
    """Return the text of a token, or that it is left out if it is an email or IP address."""
    token = found[0].rstrip(".:")
    rest = found[0][len(token) :]
    if re.fullmatch(r"[^@]+@[^@]+\.[^@]+", token):
        return f"{LEFT_OUT}{rest}"
    host = token.rpartition(":")[0] if token.count(":") == 1 else token
    try:
        ip_address(host)
    except ValueError:
        return found[0]
    return f"{LEFT_OUT}{rest}"


def _select_keys(logger: Any, method: str, event: EventDict) -> EventDict:
    """Return the known keys in their order, without those that have no value."""
    selected = {key: event[key] for key in KEYS if event.get(key) not in (None, "")}
    return {**selected, **{key: event[key] for key in ("exc_info",) if event.get(key)}}


def _to_json(event: EventDict, **_: Any) -> str:
    line: bytes = orjson.dumps(event, default=str)
    return line.decode()


def _shorten_path(filename: str) -> str:
    """Return the path below the installation or below the folder of packages."""
    path = Path(filename)
    if path.is_relative_to(_ROOT) and ".venv" not in path.parts:
        return str(path.relative_to(_ROOT))
    return "/".join(path.parts[-2:])
