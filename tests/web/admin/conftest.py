"""Staff of each role, and some documents."""

import pytest

from tests.web.scenes import FILED, REJECTED, make_packet


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED, REJECTED)
