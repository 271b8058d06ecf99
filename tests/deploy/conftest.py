"""Provides a deployment in a folder, as docs/deployment.md describes it: the units and nginx."""

import datetime
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings

from tests.deploy import units
from tests.ingestion.hosts import eventually

NAME = "ledger.example.org"  # as in deploy/siteledger.env and deploy/nginx.conf
WEB = "siteledger-web@.service"
PEOPLE = """
import django; django.setup()
from tests.factories import make_site, make_user, put_on_record
make_user("mara", sites=(make_site("0203"),))
put_on_record()
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class Deployment:
    """Runs the commands of the units and nginx with the files of `deploy/`."""

    def __init__(self, folder):
        self.folder, self.ports = folder, [str(free_port()) for _ in range(2)]
        self.https, self.http = free_port(), free_port()
        self._started, self._browsers = [], []
        for name in ("etc", "lib"):
            (folder / name).mkdir()
        (folder / "etc" / "secret_key").write_text(
            "fifty random characters are what a key has, " * 2
        )
        (folder / "etc" / "database_url").write_text(f"sqlite:///{folder}/lib/ledger.sqlite3\n")

    @property
    def access_log(self):
        return self.folder / "access.log"

    def environment(self, unit=WEB):
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        return keep | units.environment_of(unit, self.folder)

    def run(self, *arguments):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=settings.BASE_DIR,
            env=self.environment() | {"DJANGO_SETTINGS_MODULE": "config.settings"},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, unit, instance=""):
        """Start the command of the unit. The process ends with the test at the latest."""
        process = subprocess.Popen(
            units.command_of(unit, self.folder, instance),
            cwd=settings.BASE_DIR,
            env=self.environment(unit),
            stdout=subprocess.PIPE if unit != WEB else None,
            text=True,
        )
        self._started.append(process)
        return process

    def start_web(self, port):
        process = self.start(WEB, port)
        eventually(lambda: self.is_ready(port) or process.poll())
        assert process.poll() is None
        return process

    def is_ready(self, port):
        command = [units.DEPLOY / "is-ready", port]
        done = subprocess.run(command, env=self.environment(), check=False, capture_output=True)
        return done.returncode == 0

    def stop_all(self):
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._started:
            process.wait(75)
        for browser in self._browsers:
            browser.close()
        self._started.clear()
        self._browsers.clear()

    def start_nginx(self):
        """Start nginx with `deploy/nginx.conf`, in which only ports and paths are replaced."""
        path = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        if path is None:
            pytest.skip("nginx is not installed: apt-get install nginx-light")
        conf = self.folder / "nginx.conf"
        conf.write_text(
            MAIN_CONFIGURATION.format(folder=self.folder, user=user_directive())
            + "http {\n"
            + TEMPORARY_PATHS.format(folder=self.folder)
            + self._site_configuration()
            + "}\n"
        )
        self._write_certificate()
        command = [path, "-p", str(self.folder), "-c", str(conf), "-e", "stderr"]
        tested = subprocess.run([*command, "-t"], check=False, capture_output=True, text=True)
        assert tested.returncode == 0, tested.stderr
        assert "warn" not in tested.stderr
        process = subprocess.Popen(command)
        self._started.append(process)
        eventually(lambda: accepts_connections(self.https))
        return process

    def _site_configuration(self):
        text = (units.DEPLOY / "nginx.conf").read_text()
        changes = {
            "127.0.0.1:8001": f"127.0.0.1:{self.ports[0]}",
            "127.0.0.1:8002": f"127.0.0.1:{self.ports[1]}",
            "  listen 80;": f"  listen 127.0.0.1:{self.http};",
            "  listen 443 ": f"  listen 127.0.0.1:{self.https} ",
            "  listen [::]:": "  # listen [::]:",  # not every test machine has IPv6
            "/etc/ssl/siteledger": str(self.folder),
            "/var/log/nginx/siteledger.log": str(self.access_log),
        }
        for original, replacement in changes.items():
            assert original in text
            text = text.replace(original, replacement)
        return text

    def _write_certificate(self):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False
        )
        pem = serialization.Encoding.PEM
        signed = builder.sign(key, hashes.SHA256()).public_bytes(pem)
        private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (self.folder / "fullchain.pem").write_bytes(signed)
        (self.folder / "privkey.pem").write_bytes(key.private_bytes(pem, *private))

    def open_browser(self):
        """Return a client that connects through nginx, over HTTPS, with the deployment's name."""
        context = ssl.create_default_context(cafile=str(self.folder / "fullchain.pem"))
        context.check_hostname = False  # the name has no DNS entry
        browser = httpx2.Client(
            base_url=f"https://127.0.0.1:{self.https}",
            headers={"Host": NAME, "Origin": f"https://{NAME}"},
            verify=context,
            timeout=60,
            trust_env=False,
        )
        self._browsers.append(browser)
        return browser

    def sign_in(self):
        browser = self.open_browser()
        assert browser.get("/login/").status_code == 200
        form = {
            "username": "mara",
            "password": "correct horse",
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }
        answer = browser.post("/login/", data=form)
        assert (answer.status_code, answer.headers["location"]) == (302, "/"), answer.text
        return browser


MAIN_CONFIGURATION = """
daemon off;
{user}
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}  # as docs/deployment.md requires
"""
TEMPORARY_PATHS = "access_log off;\n" + "".join(
    f"{kind}_temp_path {{folder}}/{kind};\n"
    for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
)


def user_directive():
    return "user root;" if os.getuid() == 0 else ""


def accepts_connections(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a migrated deployment with static files, a key, a site and its coordinator."""
    deployed = Deployment(tmp_path_factory.mktemp("deployment"))
    deployed.run("manage.py", "migrate", "--stage", "pre", "--verbosity", "0")
    deployed.run("manage.py", "collectstatic", "--no-input", "--verbosity", "0")
    deployed.run("manage.py", "audit_keys", "create")
    deployed.run("-c", PEOPLE)
    return deployed


@pytest.fixture
def deployment(installed):
    yield installed
    installed.stop_all()
    installed.access_log.unlink(missing_ok=True)
