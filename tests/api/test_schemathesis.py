"""Schemathesis compares the interface with its OpenAPI document."""

import subprocess
import sys
from pathlib import Path

import pytest

from sites.models import TokenScope
from tests.api.conftest import make_token
from tests.api.servers import web_server
from tests.api.test_content import make_document
from tests.factories import make_user

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.django_db(transaction=True)
def test_schemathesis_finds_no_errors(site, settings, tmp_path):
    """Runs all phases and checks against a real server, with a real token and real rows."""
    make_document(site, tmp_path)
    _, secret = make_token(*TokenScope, user=make_user(is_staff=True, is_superuser=True))
    with web_server(settings, API_BAD_TOKENS_PER_MINUTE="1000000") as address:
        found = subprocess.run(
            [
                Path(sys.executable).with_name("schemathesis"),
                "--config-file", HERE / "schemathesis.toml",
                "run", f"{address}/api/v1/openapi.json",
                "--header", f"Authorization: Bearer {secret}",
            ],
            env={
                "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
                "PYTHONPATH": str(HERE),
                "SITELEDGER_KNOWN": f"{site.site_id} {site.portal.base_url}",
                "NO_COLOR": "1",
                "HOME": str(tmp_path),
            },
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )  # fmt: skip
    assert found.returncode == 0, found.stdout
