"""The security scanner wapiti finds nothing above informational as a coordinator and as a QA lead.

wapiti is installed in an environment of its own (`make scanner`), because its licence is the GPL,
and SiteLedger imports nothing of it. It scans plain HTTP on this machine. What depends on HTTPS is
tested in `tests/config/test_production.py`.
"""

import json
import subprocess

import pytest
from django.conf import settings as deployed
from django.test import Client

from tests.api.servers import web_server
from tests.ingestion.review.reviewers import lead
from tests.ingestion.storage.conftest import store_file
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
)

WAPITI = deployed.BASE_DIR / "var" / "scanner" / "bin" / "wapiti"
MODULES = (
    "csp,csrf,crlf,exec,file,htaccess,http_headers,ldap,methods,permanentxss,redirect,sql,timesql,"
    "upload,xss"
)
NOT_SCANNED = ("logout/*", "static/*", "password/*")  # the first and the last would sign it out
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2400),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not WAPITI.exists(), reason="wapiti is not installed: make scanner"),
]


@pytest.fixture
def packet(site, mara, settings, tmp_path):
    settings.SPOOL_DIR.mkdir()
    content = [f"%PDF-1.7 the approval, page {n}".encode() for n in range(3)]
    packet = make_packet(site, mara, FILED, REJECTED, IN_REVIEW, content=content)
    for each in content:
        store_file(tmp_path, each)
    return packet


def scan(address, person, folder):
    """Scan with the session and the CSRF cookie of a person who is signed in; return the report."""
    client = Client()
    client.force_login(person, "sites.backends.People")
    client.get("/account/")
    cookies = "; ".join(f"{name}={each.value}" for name, each in client.cookies.items())
    left_out = [part for path in NOT_SCANNED for part in ("-x", f"{address}/{path}")]
    done = subprocess.run(
        [
            WAPITI, "-u", f"{address}/", "--scope", "folder", *left_out, "-m", MODULES,
            "-C", cookies, "-dr", "1",
            # With more tasks, wapiti's own database is sometimes locked on a busy machine.
            "--tasks", "4",
            "--max-files-per-dir", "30", "--max-scan-time", "400", "--max-attack-time", "20",
            "--store-session", folder, "--store-config", folder, "--no-bugreport",
            "-f", "json", "-o", folder / "report.json",
        ],
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("who", ["a coordinator", "a lead of QA"])
def test_it_finds_nothing_above_informational(packet, mara, settings, tmp_path, who):
    person = mara if who == "a coordinator" else lead("helena", "Helena Vogt")
    start = "" if person == mara else "/admin/review"
    waiting = packet.documents.get(state="IN_REVIEW").pk
    seen = ("/account/", "/packets/new/") if person == mara else (f"/admin/review/{waiting}/",)
    folder = tmp_path / "scanner"
    folder.mkdir()
    with web_server(settings) as address:
        report = scan(address + start, person, folder)
    crawled = json.dumps(report["infos"]["crawled_pages"])
    for path in seen:
        assert f"{address}{path}" in crawled, f"it was not signed in: {path}"
    found = report["vulnerabilities"] | report["anomalies"]
    above = {kind: each for kind, each in found.items() if each}
    assert not above, json.dumps(above, indent=1)[:6000]
