"""Collects the lines of the log of this process, as a host writes them to stderr."""

import io
import json
import logging

import pytest

from config.logs import RefusedRequestFilter, make_formatter


class LogLines(io.StringIO):
    """The lines that were written."""

    def read_lines(self, *events):
        """Return the lines, or those of these events."""
        lines = [json.loads(line) for line in self.getvalue().splitlines()]
        return [line for line in lines if not events or line["event"] in events]


@pytest.fixture
def log():
    stream = LogLines()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(make_formatter("json"))
    handler.addFilter(RefusedRequestFilter())
    root = logging.getLogger()
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)
