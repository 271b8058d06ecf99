"""docs/settings.md is generated from the settings and is always complete."""

import re
import subprocess

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environment import SECRETS, read_secret_files
from qualification.validation.identity import CODE_FOLDERS

PROGRAM = settings.BASE_DIR / "scripts" / "settings-reference"
READS = re.compile(r"os\.(?:environ|getenv)")
# Each says there why it asks the environment itself.
MAY_READ = {
    "config/settings.py", "ingestion/rules/document_types.py",
    "ingestion/reading/ocr/language_data.py",
    "ingestion/reading/process_limits.py", "ingestion/dispatch/processes/cluster.py",
    "config/wsgi.py",
    "qualification/management/commands/demo.py",
    "ingestion/backup/databases.py", "qualification/sandbox/isolation.py",
}  # fmt: skip


def test_every_setting_is_documented_with_its_default():
    completed = subprocess.run([PROGRAM, "--check"], check=False, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr


def test_no_other_module_reads_the_environment():
    readers = {
        str(path.relative_to(settings.BASE_DIR))
        for folder in CODE_FOLDERS
        for path in (settings.BASE_DIR / folder).rglob("*.py")
        if READS.search(path.read_text())
    }
    assert readers <= MAY_READ


def test_a_secret_can_be_the_content_of_a_file(tmp_path):
    (tmp_path / "key").write_text("fifty characters\n")
    given = {
        "SECRET_KEY_FILE": str(tmp_path / "key"),
        "SECRET_KEY": "another",
        "LOG_LEVEL_FILE": "x",
    }
    assert read_secret_files(given) == {"SECRET_KEY": "fifty characters"}


@pytest.mark.parametrize("name", SECRETS)
def test_a_missing_secret_file_is_an_error(tmp_path, name):
    with pytest.raises(ImproperlyConfigured, match=f"{name}_FILE=.* cannot be read: No such file"):
        read_secret_files({f"{name}_FILE": str(tmp_path / "nothing")})


@pytest.mark.parametrize(("content", "why"), [(b" \n", "is empty"), (b"\xff\xfe", "is not text")])
def test_an_empty_secret_file_is_an_error(tmp_path, content, why):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(ImproperlyConfigured, match=why):
        read_secret_files({"SECRET_KEY_FILE": str(tmp_path / "key")})


def test_the_example_environment_contains_only_settings():
    known = set(
        re.findall(
            r"^\| `([A-Z_0-9]+)`",
            (settings.BASE_DIR / "docs/settings.md").read_text(),
            re.MULTILINE,
        )
    )
    lines = (settings.BASE_DIR / "deploy" / "siteledger.env").read_text().splitlines()
    named = {line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#")}
    assert named <= known
