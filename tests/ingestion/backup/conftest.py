"""Fixtures: an installation with documents, and other machines on which it is restored."""

import secrets
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from audit.ledger.actors import Actor
from audit.signing import key_rotation
from ingestion.backup import creation
from ingestion.intake import registration
from tests import commands
from tests.audit.support import sql
from tests.factories import make_filed, make_site, make_user, put_on_record
from tests.ingestion.storage.conftest import store_file

FOLDERS = {
    "ARCHIVE_DIR": "archive",
    "SPOOL_DIR": "spool",
    "ANCHOR_DIR": "anchors",
    "AUDIT_KEY_FILE": "keys/audit.pem",
}


@pytest.fixture(autouse=True)
def here(settings, tmp_path, transactional_db):
    """Give the installation a ledger with a key and its own folders."""
    for name, folder in FOLDERS.items():
        setattr(settings, name, tmp_path / "here" / folder)
    key_rotation.create_key(by=Actor.software("tests", "operations"))
    return tmp_path / "here"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "backups"


@pytest.fixture
def site():
    return make_site("1001")


@pytest.fixture
def filed(site, tmp_path):
    """Return the digests of three documents on file."""
    hashes = [store_file(tmp_path, f"%PDF {number}".encode()) for number in range(3)]
    for number, sha256 in enumerate(hashes):
        make_filed(site, f"doc-{number}", sha256)
    return hashes


@pytest.fixture
def waiting(site):
    """Return an uploaded document that no worker has claimed."""
    content = ContentFile(b"%PDF-1.7", "letter.pdf")
    file = registration.UploadedDocument("letter.pdf", "irb-approval", "", content)
    user = make_user(sites=(site,))
    put_on_record()  # the command verifies what it restores
    packet = registration.register_upload(site=site, user=user, files=[file])
    return packet.documents.get()


@pytest.fixture
def elsewhere(settings, tmp_path):
    """Return a context manager in which database and folders are those of an empty machine."""

    @contextmanager
    def elsewhere():
        name = f"elsewhere_{secrets.token_hex(4)}"
        folder = tmp_path / name
        folder.mkdir()
        before = {each: getattr(settings, each) for each in FOLDERS}
        for each, part in FOLDERS.items():
            setattr(settings, each, folder / part)
        try:
            with _other_database(name, folder):
                yield folder
        finally:
            for each, path in before.items():
                setattr(settings, each, path)

    return elsewhere


@contextmanager
def _other_database(name, folder):
    own = dict(connection.settings_dict)
    if connection.vendor == "postgresql":
        sql(f"CREATE DATABASE {name}")
    else:
        name = str(folder / "siteledger.sqlite3")
    connection.close()
    connection.settings_dict["NAME"] = name  # all threads share this dictionary
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(own)
        if connection.vendor == "postgresql":
            sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def during_snapshot(monkeypatch):
    """Return a function that lets another connection act while a backup reads its snapshot."""

    def during_snapshot(act):
        read_facts = creation._read_snapshot_facts

        def read_facts_and_act():
            facts = read_facts()
            in_a_thread(act)
            return facts

        monkeypatch.setattr(creation, "_read_snapshot_facts", read_facts_and_act)

    return during_snapshot


def in_a_thread(act):
    """Call a function on its own connection. Its exceptions are raised here."""

    def run():
        try:
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        pool.submit(run).result()


def run(command, *arguments):
    """Run a command, print its error output as well, and return its exit code."""
    code, complaint = commands.run(command, *arguments)
    sys.stdout.write(f"{complaint}\n")
    return code


def backups(target):
    return sorted(path for path in Path(target).glob("[0-9]*"))
