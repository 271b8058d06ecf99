"""Fixtures for tests of exports: a signed trail and its export."""

import shutil

import pytest
from django.conf import settings as configured
from django.test import TestCase, override_settings

from tests.audit.export.support import make_export, publish, sign, write_documents


@pytest.fixture
def anchors(settings, tmp_path):
    publish(settings, tmp_path / "anchors")


def write_trail():
    """Write twelve entries of four documents at two sites, and a checkpoint after each site."""
    write_documents(1, 2)
    sign()
    write_documents(3, 4, site="FR-002")
    sign()


@pytest.fixture
def trail(db, anchors):
    write_trail()


@pytest.fixture
def package_of_trail(trail, tmp_path):
    """Export the trail. Tests that need no ledger beside the package use `package`."""
    return make_export(tmp_path / "export")


@pytest.fixture(scope="session")
def exports(django_db_setup, django_db_blocker, tmp_path_factory):
    """Export one trail as a whole and in two parts. Return their folder. No ledger remains."""
    folder = tmp_path_factory.mktemp("exports")
    with django_db_blocker.unblock(), override_settings():
        transactions = TestCase._enter_atomics()
        try:
            publish(configured, folder / "anchors")
            write_trail()
            make_export(folder / "export")
            make_export(folder / "part", doc_id="CV-3")
            make_export(folder / "older-part", sites=["DE-014"])
        finally:
            TestCase._rollback_atomics(transactions)
    return folder


@pytest.fixture
def package(db, exports, tmp_path):
    """Copy the export of the whole trail, so that the test can change it."""
    return shutil.copytree(exports / "export", tmp_path / "export")


@pytest.fixture
def part(db, exports, tmp_path):
    """Copy the export of the three entries of one document."""
    return shutil.copytree(exports / "part", tmp_path / "part")
