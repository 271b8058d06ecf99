"""The image is built from what is checked out, and what is in it works.

Where an engine and its base are: docker, podman, or buildah, which needs no daemon. Without a
registry, a base of Debian's own packages does (docs/deployment.md).
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
grep -q audit.W011 /tmp/warned # an anchor elsewhere is all that is missing
test "$(grep -c '^?: ' /tmp/warned)" = 1
gunicorn --config deploy/gunicorn.conf.py --bind 127.0.0.1:8123 config.wsgi > /tmp/served 2>&1 &
for look in $(seq 60); do deploy/is-ready 8123 > /tmp/ready 2>&1 && break; sleep 1; done
deploy/is-ready 8123
python manage.py demo --sites 1
python manage.py verify_audit || test $? = 3
python manage.py verify_archive
echo all of it worked
"""
SET = {
    "SECRET_KEY": "only-for-a-test-and-as-long-as-the-checks-for-deployment-ask-for",
    "ALLOWED_HOSTS": "localhost",
    "AUDIT_KEY_FILE": "/keys/audit.pem",
    "ANCHOR_DIR": "/data/anchors",
    "SITE_URL": "https://localhost",
}


# For buildah: no namespaces are needed so.
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


def built(*command):
    code, said = run(*command)
    if code and ("pinging container registry" in said or "failed to resolve" in said):
        pytest.skip("no registry can be asked for the base")
    assert code == 0, said[-4000:]


@contextmanager
def with_buildah():
    """Yields how a command is run in a container of the image."""
    # /opt: where this machine keeps packages, if it does; pip is told so by the base.
    built(
        "buildah", "bud", "--pull=missing", "--volume", "/opt:/opt:ro", "--tag", IMAGE,
        "--file", "deploy/Containerfile", ".",
    )  # fmt: skip
    _, container = run("buildah", "from", "--pull-never", IMAGE)
    try:
        yield ["buildah", "run", *_told(), container.strip(), "--"]
    finally:
        run("buildah", "rm", container.strip())
        run("buildah", "rmi", IMAGE)


@contextmanager
def with_a_daemon(engine):
    built(engine, "build", "--tag", IMAGE, "--file", "deploy/Containerfile", ".")
    try:
        yield [engine, "run", "--rm", *_told(), IMAGE]
    finally:
        run(engine, "rmi", IMAGE)


def _answers(engine):
    return shutil.which(engine) is not None and run(engine, "info")[0] == 0


def _told():
    return [part for name, value in SET.items() for part in ("--env", f"{name}={value}")]


@pytest.fixture
def inside():
    engine = next(filter(_answers, ("docker", "podman", "buildah")), None)
    if engine is None:
        pytest.skip("no engine that builds images: docker, podman or buildah")
    with with_buildah() if engine == "buildah" else with_a_daemon(engine) as command:
        yield command


def test_an_image_is_built_and_does_the_whole_job_as_a_user_who_can_change_nothing(inside):
    code, said = run(*inside, "sh", "-c", INSIDE)
    assert "all of it worked" in said, said[-4000:]
    assert code == 0
