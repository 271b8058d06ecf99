"""A portal that serves a sample corpus over real HTTP, with limits of its own and bad weather.

Tests use `SamplePortal` as a context manager on a free port; `python -m samples.portal`
runs it by itself.
"""

from samples.portal.fault_injection import Trouble, Weather
from samples.portal.limits import Limit, limits_of
from samples.portal.request_log import Request
from samples.portal.server import SamplePortal

__all__ = ["Limit", "Request", "SamplePortal", "Trouble", "Weather", "limits_of"]
