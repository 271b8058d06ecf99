"""Builds the image from the checkout, and runs SiteLedger in it.

The tests need an engine and the base image: docker, podman, or buildah, which needs no daemon.
Without a registry, a base that is made of Debian's packages is sufficient (docs/deployment.md).
"""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest
from django.conf import settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

IMAGE = "localhost/siteledger:tested"
INSIDE = """
set -e
test "$(id -u)" = 10001
! touch manage.py 2> /dev/null
python manage.py migrate --verbosity 0
python manage.py audit_keys create > /dev/null
! python manage.py check --deploy --fail-level WARNING 2> /tmp/warned
grep -q audit.W011 /tmp/warned # only an independent anchor is missing
test "$(grep -c '^?: ' /tmp/warned)" = 1
gunicorn --config deploy/gunicorn.conf.py --bind 127.0.0.1:8123 config.wsgi > /tmp/served 2>&1 &
for attempt in $(seq 60); do deploy/is-ready 8123 > /tmp/ready 2>&1 && break; sleep 1; done
deploy/is-ready 8123
python manage.py demo --sites 1
python manage.py verify_audit || test $? = 3
python manage.py verify_archive
echo all steps succeeded
"""
SETTINGS = {
    "SECRET_KEY": "only-for-a-test-and-as-long-as-the-checks-for-deployment-ask-for",
    "ALLOWED_HOSTS": "localhost",
    "AUDIT_KEY_FILE": "/keys/audit.pem",
    "ANCHOR_DIR": "/data/anchors",
    "SITE_URL": "https://localhost",
}


# With these values, buildah needs no namespaces.
ENVIRONMENT = os.environ | {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}


def run(*command):
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=settings.BASE_DIR,
        env=ENVIRONMENT,
    )
    return done.returncode, done.stdout + done.stderr


def build(*command):
    code, output = run(*command)
    if code and ("pinging container registry" in output or "failed to resolve" in output):
        pytest.skip("no registry is available for the base image")
    assert code == 0, output[-4000:]


@contextmanager
def with_buildah():
    """Build the image, and yield the beginning of a command that runs in a container of it."""
    # /opt may contain packages of this machine; the base image configures pip to use them.
    build(
        "buildah", "bud", "--pull=missing", "--volume", "/opt:/opt:ro", "--tag", IMAGE,
        "--file", "deploy/Containerfile", ".",
    )  # fmt: skip
    _, container = run("buildah", "from", "--pull-never", IMAGE)
    try:
        yield ["buildah", "run", *_environment_options(), container.strip(), "--"]
    finally:
        run("buildah", "rm", container.strip())
        run("buildah", "rmi", IMAGE)


@contextmanager
def with_a_daemon(engine):
    """Do the same with an engine that has a daemon."""
    build(engine, "build", "--tag", IMAGE, "--file", "deploy/Containerfile", ".")
    try:
        yield [engine, "run", "--rm", *_environment_options(), IMAGE]
    finally:
        run(engine, "rmi", IMAGE)


def _is_available(engine):
    return shutil.which(engine) is not None and run(engine, "info")[0] == 0


def _environment_options():
    return [part for name, value in SETTINGS.items() for part in ("--env", f"{name}={value}")]


@pytest.fixture
def command_inside():
    engine = next(filter(_is_available, ("docker", "podman", "buildah")), None)
    if engine is None:
        pytest.skip("no engine that builds images is installed: docker, podman or buildah")
    with with_buildah() if engine == "buildah" else with_a_daemon(engine) as command:
        yield command


def test_the_image_works_for_a_user_who_cannot_change_it(command_inside):
    code, output = run(*command_inside, "sh", "-c", INSIDE)
    assert "all steps succeeded" in output, output[-4000:]
    assert code == 0
