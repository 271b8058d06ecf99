"""Tests of the files of `deploy/`, which the programs that use them read and check."""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from tests.config import production
from tests.deploy import units
from tests.deploy.units import DEPLOY, UNITS, lines_of, read_compose_file, read_lines

SITELEDGER_SERVICES = ("web-1", "web-2", "worker", "manage", "migrate")
OTHER_SERVICES = ("database", "redis")
SERVER_UNITS = ("siteledger-web@.service", "siteledger-worker.service")
# The time for uploads in deploy/gunicorn.conf.py; a worker host needs 20 for documents and 30 for
# its cluster.
DRAIN_SECONDS = 60


def find_linter(name):
    path = settings.BASE_DIR / "var" / "linters" / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not installed: make linters")
    return path


def run(*command):
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_hadolint_finds_no_error_in_the_containerfile():
    assert run(find_linter("hadolint"), DEPLOY / "Containerfile") == (0, "")


def test_the_compose_file_matches_its_schema_and_style():
    path = DEPLOY / "compose.yaml"
    schema = ("--builtin-schema", "vendor.compose-spec")
    code, output = run(find_linter("check-jsonschema"), *schema, path)
    assert code == 0, output
    rules = ("--config-file", DEPLOY / ".yamllint")
    assert run(find_linter("yamllint"), "--strict", *rules, path) == (0, "")


@pytest.mark.parametrize("name", [*SITELEDGER_SERVICES, *OTHER_SERVICES])
def test_a_container_can_write_only_to_its_volumes(name):
    service = read_compose_file()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == (
        "no" if "manage" in service.get("profiles", ()) else "unless-stopped"
    )


@pytest.mark.parametrize("name", SITELEDGER_SERVICES)
def test_the_environment_of_a_container_contains_no_secret(name):
    service = read_compose_file()["services"][name]
    for variable, value in service["environment"].items():
        if variable.endswith("_FILE") and variable != "AUDIT_KEY_FILE":
            assert value.removeprefix("/run/secrets/") in service["secrets"]
        else:
            assert not re.search("SECRET|PASSWORD|_URL$", variable)


def test_the_web_server_has_neither_the_ledger_key_nor_the_owner_password():
    services = read_compose_file()["services"]
    with_owner = {
        name for name in SITELEDGER_SERVICES if "database_owner_url" in services[name]["secrets"]
    }
    with_key = {name for name in SITELEDGER_SERVICES if "keys:/keys" in services[name]["volumes"]}
    assert (with_owner, with_key) == ({"migrate"}, {"worker", "manage", "migrate"})
    assert lines_of("siteledger-web@.service", "InaccessiblePaths") == ["-/var/lib/siteledger/keys"]


@pytest.mark.parametrize("name", SITELEDGER_SERVICES[:3])
def test_a_container_has_enough_time_to_drain(name):
    assert (
        int(read_compose_file()["services"][name]["stop_grace_period"].rstrip("s")) > DRAIN_SECONDS
    )


@pytest.mark.parametrize("unit", SERVER_UNITS)
def test_a_unit_has_enough_time_to_drain_and_is_restarted(unit):
    assert int(lines_of(unit, "TimeoutStopSec")[0]) > DRAIN_SECONDS
    assert lines_of(unit, "KillMode") == ["mixed"]
    assert lines_of(unit, "Restart") == ["always"]


def test_containers_and_units_start_the_same_commands(tmp_path):
    image = (DEPLOY / "Containerfile").read_text()
    config = "--config deploy/gunicorn.conf.py"
    assert config in lines_of("siteledger-web@.service", "ExecStart")[0]
    assert config in re.sub('[",]', "", image)
    worker = units.command_of("siteledger-worker.service", tmp_path)
    assert (
        worker[1:]
        == read_compose_file()["services"]["worker"]["command"][1:]
        == ["manage.py", "workers"]
    )


def test_the_image_contains_all_packages_that_run_and_no_others():
    copied = {
        line[1:] for line in read_lines(settings.BASE_DIR / ".dockerignore") if line[0] == "!"
    }
    tracked = run("git", "-C", settings.BASE_DIR, "ls-files")[1].splitlines()
    packages = {path.split("/")[0] for path in tracked if path.endswith("/__init__.py")}
    assert packages - {"tests", "bench"} <= copied
    assert {"static", "templates", "manage.py", "requirements.txt"} <= copied
    assert all((settings.BASE_DIR / name).exists() for name in copied)
    assert not {"tests", ".env", "var"} & copied


def test_nginx_accepts_the_sizes_that_the_settings_permit():
    text = (DEPLOY / "nginx.conf").read_text()
    largest = max(int(size) for size in re.findall(r"client_max_body_size (\d+)m", text))
    assert largest == settings.MAX_UPLOAD_FILES * settings.MAX_DOCUMENT_MB + 1
    assert "X-Forwarded-Proto $scheme" in text  # SECURE_PROXY_SSL_HEADER


def test_gunicorn_uses_the_number_of_threads_of_the_settings():
    configuration = (DEPLOY / "gunicorn.conf.py").read_text()
    assert f'os.environ.get("WEB_THREADS") or {settings.WEB_THREADS})' in configuration


def test_systemd_accepts_the_units(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    for unit in [*UNITS, DEPLOY / "systemd" / "siteledger.target"]:
        text = units.replace_paths(unit.read_text(), tmp_path).replace(
            f"file:{settings.BASE_DIR}", "file:/srv"
        )
        (tmp_path / unit.name.replace("@.", "@8001.")).write_text(text)
        (tmp_path / unit.name).write_text(text)
    started = [tmp_path / unit.name.replace("@.", "@8001.") for unit in UNITS]
    assert run("systemd-analyze", "verify", *started, tmp_path / "siteledger.target") == (0, "")


@pytest.mark.slow
def test_the_checks_report_only_the_missing_anchor_for_the_compose_settings(db, settings, tmp_path):
    """The paths of a container, /run/secrets, /keys and /data, are all in one folder here."""
    (tmp_path / "secret_key").write_text("fifty random characters are what a key has, " * 2)
    (tmp_path / "database_url").write_text(f"sqlite:///{tmp_path}/ledger.sqlite3")
    values = dict(line.split("=", 1) for line in read_lines(DEPLOY / "siteledger.env"))
    values |= read_compose_file()["services"]["worker"]["environment"]
    for name in [name for name in values if name.endswith("_FILE")]:
        values[name] = str(tmp_path / Path(values[name]).name)
    settings.AUDIT_KEY_FILE, settings.ANCHOR_DIR = values["AUDIT_KEY_FILE"], tmp_path / "anchors"
    call_command("audit_keys", "create", stdout=io.StringIO())
    done = production.run(tmp_path, "manage.py", "check", "--deploy", **values | {"SECRET_KEY": ""})
    assert done.returncode == 0, done.stderr
    assert production.warnings(done) == ["audit.W011"]


def test_secrets_are_created_once_and_others_cannot_read_them(tmp_path):
    folder = tmp_path / "secrets"
    for _ in range(2):
        assert run(DEPLOY / "make-secrets", folder, "database") == (0, "")
        made = {path.name: path.read_text() for path in folder.iterdir()}
    assert run(DEPLOY / "make-secrets", folder, "elsewhere") == (0, "")
    assert {path.name: path.read_text() for path in folder.iterdir()} == made
    assert folder.stat().st_mode & 0o077 == 0
    assert len(made["secret_key"]) > 50
    assert (
        made["database_url"]
        == f"postgres://siteledger:{made['database_password']}@database/siteledger"
    )


def test_an_image_is_built_if_an_engine_is_available():
    engine = next((name for name in ("docker", "podman") if shutil.which(name)), None)
    if engine is None or run(engine, "info", "--format", "{{.ServerVersion}}")[0]:
        pytest.skip("no container engine is available")
    code, output = run(engine, "build", "--file", DEPLOY / "Containerfile", settings.BASE_DIR)
    assert code == 0, output


# The superuser of the temporary server has the name that make-role uses, so it is renamed first.
TWO_ROLES = """
set -euo pipefail
server=${DATABASE_URL#*@}; server=${server%/*}
export PGHOST=${server%:*} PGPORT=${server#*:} POSTGRES_DB=siteledger POSTGRES_USER=siteledger_owner
psql -qU siteledger -c 'CREATE ROLE siteledger_owner SUPERUSER LOGIN' siteledger
psql -qU siteledger_owner -c 'ALTER ROLE siteledger RENAME TO nobody' siteledger
deploy/make-role
export DATABASE_OWNER_URL=postgres://siteledger_owner@$server/siteledger
"$PYTHON" manage.py migrate --verbosity 0
unset DATABASE_OWNER_URL
"$PYTHON" manage.py check --database default
psql -AtU siteledger -c 'SELECT current_user' siteledger
"""


@pytest.mark.slow
def test_make_role_creates_the_role_of_the_application(tmp_path):
    """PostgreSQL's image runs it in an empty database; then `migrate` grants its permissions."""
    (tmp_path / "password").write_text("it's a 'secret'\n")
    more = {"DATABASE_PASSWORD_FILE": str(tmp_path / "password"), "PYTHON": sys.executable}
    environment = production.environment(tmp_path, **more)
    environment["PATH"] = f"{environment['PATH']}:/usr/sbin"
    command = [settings.BASE_DIR / "scripts" / "with-postgresql", "bash", "-c", TWO_ROLES]
    done = subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode == 77:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "siteledger"
    assert "audit.W001" not in done.stderr  # the application's role could change the ledger
