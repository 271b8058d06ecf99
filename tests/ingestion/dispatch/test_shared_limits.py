"""Tests that several processes together keep the limit of one portal."""

import pytest

from bench.limits import ask_together, portal_with
from ingestion.models import PortalLimitState
from samples.portal import SiteLimit
from tests.factories import make_site
from tests.ingestion.hosts import environment
from tests.marks import slower

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("processes", [2, slower(4)])
def test_processes_together_keep_the_rate_limit_of_a_portal(settings, processes):
    with portal_with(SiteLimit(10.0, 5)) as (portal, url):
        site = make_site("1001", base_url=url, rate_per_second=10.0, burst=5)
        environ = environment(settings)
        ask_together(site.portal.key, url, 24, processes=processes, environment=environ)
    assert len(portal.requests) == 24
    assert portal.violations.total() == 0
    assert PortalLimitState.objects.get().portal == site.portal
