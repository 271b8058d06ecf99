"""A portal that serves a sample corpus over real HTTP, with limits of its own and bad weather.

Tests use `SamplePortal` as a context manager on a free port; `python -m ingestion.samples.portal`
runs it by itself.
"""

from ingestion.samples.portal.desk import Request
from ingestion.samples.portal.limits import Limit, limits_of
from ingestion.samples.portal.server import SamplePortal
from ingestion.samples.portal.weather import Trouble, Weather

__all__ = ["Limit", "Request", "SamplePortal", "Trouble", "Weather", "limits_of"]
