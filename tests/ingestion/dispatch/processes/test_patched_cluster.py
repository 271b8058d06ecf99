"""The patches of django-q2 apply to each release that the requirements permit."""

import ast
import hashlib
import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django_q import cluster

from ingestion.dispatch.processes.patched_cluster import PATCHED_RELEASES, PATCHED_SOURCES

ROOT = Path(__file__).parents[4]
INSTALLED = Path(cluster.__file__).parent
UPSTREAM = ROOT / "deploy" / "upstream" / "django-q2-cluster.patch"


def compute_fingerprints(package, change=lambda source: source):
    """Return the fingerprints of the functions that the patches replace or rely on."""
    sources = [change((package / name).read_text()) for name in ("cluster.py", "brokers/orm.py")]
    return {
        name: hashlib.sha256(ast.get_source_segment(source, function).encode()).hexdigest()[:16]
        for source in sources
        for group in ast.parse(source).body
        if isinstance(group, ast.ClassDef)
        for function in group.body
        if isinstance(function, ast.FunctionDef)
        and (name := f"{group.name}.{function.name}") in PATCHED_SOURCES
    }


def test_the_installed_release_is_one_to_which_the_patches_apply():
    assert importlib.metadata.version("django-q2") in PATCHED_RELEASES
    assert compute_fingerprints(INSTALLED) == PATCHED_SOURCES


def test_the_requirements_permit_only_releases_to_which_the_patches_apply():
    lines = (ROOT / "requirements.in").read_text().splitlines()
    [permitted] = [line for line in lines if line.startswith("django-q2")]
    assert permitted == f"django-q2>={PATCHED_RELEASES[0]},<={PATCHED_RELEASES[-1]}"


@pytest.mark.parametrize("statement", ["self.sentinel.join()", "timedelta(seconds=Conf.RETRY)"])
def test_a_changed_function_of_django_q2_is_noticed(statement):
    changed = compute_fingerprints(INSTALLED, lambda source: source.replace(statement, "None"))
    assert len({*changed.items()} - {*PATCHED_SOURCES.items()}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("release", PATCHED_RELEASES)
def test_the_patches_apply_to_each_permitted_release(release, tmp_path):
    """The release is downloaded, imported with our patches, and patched as proposed upstream."""
    download = ["download", "--quiet", "--no-deps", "--dest", tmp_path, f"django-q2=={release}"]
    subprocess.run([sys.executable, "-m", "pip", *download], check=True, cwd=tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    other = tmp_path / "release"
    zipfile.ZipFile(wheel).extractall(other)
    assert compute_fingerprints(other / "django_q") == PATCHED_SOURCES
    code = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]\n"
        "import django; django.setup()\n"
        "from django_q import cluster\n"
        "assert cluster.__file__.startswith(sys.argv[1]), cluster.__file__\n"
        "from ingestion.dispatch.processes import patched_cluster\n"
        "assert cluster.Sentinel is patched_cluster.Sentinel\n"
    )
    subprocess.run([sys.executable, "-c", code, str(other), str(ROOT)], check=True, cwd=other)
    subprocess.run(["git", "apply", "--verbose", str(UPSTREAM)], check=True, cwd=other)
    assert "lock.release()" in (other / "django_q" / "cluster.py").read_text()
