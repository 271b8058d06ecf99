"""Provides an installation for the commands of the documentation: sites, portal, workers, pages.

Its folder `home` contains the files that the pages name.
"""

import json
import shutil
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from qualification.sandbox import Sandbox
from qualification.sandbox.programs import find_free_port
from samples.corpus import write_corpus
from samples.documents import make_sample
from samples.people_and_sites import SITES
from samples.portal import SamplePortal, read_limits
from tests.docs.pages import ROOT

PAGE_ADDRESS = "http://127.0.0.1:8000"  # on every page; replaced by a free port
API_SITE, MANUAL_SITE = SITES[1], SITES[0]  # submit over HTTP, and by hand
WRITE_TOKENS = """
from django.utils import timezone
from audit.ledger.log import ledger
from sites.models import ApiToken, TokenScope, Site, User
def write(file, scopes, **owner):
    token = ApiToken(approved_at=timezone.now(), name=file, scopes=scopes, **owner)
    open(file, "w").write(token.generate_secret())
    token.save()
write("site.token", ["read", "download", "submit"], site=Site.objects.get(site_id="{site}"))
write("ops.token", ["read", "operate", "jobs"], user=User.objects.get(username="olu"))
"""


@dataclass(frozen=True)
class Home:
    """Runs scripts in the folder `home` of an installation."""

    folder: Path
    environment: dict
    address: str

    def run(self, script, seconds=300):
        """Run the script in bash, with the port of this installation."""
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script.replace(PAGE_ADDRESS, self.address)],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip


@contextmanager
def run_installation(folder):
    """Start an installation in the folder, and yield its `Home`."""
    sandbox = Sandbox(folder)
    home = folder / "home"
    home.mkdir()
    corpus, portal = _make_samples(folder / "samples")
    with portal, closing(sandbox):
        shutil.copy(corpus.sites, home)
        for command in (["migrate"], ["audit_keys", "create"], ["load_sites", str(corpus.sites)]):
            sandbox.run(*command, "--verbosity", "0")
        sandbox.run("demo_users")
        sandbox.start_workers()
        sandbox.start_web_server()
        environment = sandbox.environment | {"PATH": f"{_write_programs(folder)}:/usr/bin:/bin"}
        running = Home(home, environment, sandbox.address)
        _write_files(running, corpus)
        yield running


def _make_samples(folder):
    port = find_free_port()
    corpus = write_corpus(
        folder, base_url=f"http://127.0.0.1:{port}", today=datetime.now(UTC).date(), sites=2
    )
    return corpus, SamplePortal(corpus.directory, read_limits(corpus.sites), faults=0, port=port)


def _write_programs(folder):
    """Write `manage.py` as a program, and return its folder for the PATH."""
    programs = folder / "bin"
    programs.mkdir()
    manage = programs / "manage.py"
    manage.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "manage.py"} "$@"\n')
    manage.chmod(0o755)
    return programs


def _write_files(home, corpus):
    lines = corpus.manifest.read_text().splitlines(keepends=True)
    lines_by_site = {
        site.site_id: [line for line in lines if json.loads(line)["site_id"] == site.site_id]
        for site in (API_SITE, MANUAL_SITE)
    }
    (home.folder / "packet.ndjson").write_text("".join(lines_by_site[API_SITE.site_id][:4]))
    (home.folder / "manifest.ndjson").write_text("".join(lines_by_site[MANUAL_SITE.site_id][:4]))
    today = datetime.now(UTC).date()
    for folder in ("scans", "packets"):
        (home.folder / folder).mkdir()
        content = make_sample(
            "lab-certification", today=today, site=MANUAL_SITE, fault=None, seed=7
        )
        (home.folder / folder / "lab-certification.pdf").write_bytes(content)
    content = make_sample("irb-approval", today=today, site=API_SITE, fault=None, seed=8)
    (home.folder / "irb-approval.pdf").write_bytes(content)
    for command in (
        f"manage.py shell -v 0 -c '{WRITE_TOKENS.format(site=API_SITE.site_id)}'",
        "manage.py replay_corpus packets/ --write f.json",
    ):
        done = home.run(command)
        assert done.returncode == 0, done.stdout + done.stderr
