"""Tests of the upgrade after which files are divided: old rows stay as they are."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from ingestion.documents import division
from ingestion.models import Document
from tests.config.upgrades import CANNOT_MIGRATE_BACK
from tests.factories import make_filed, make_site

BEFORE = [("ingestion", "0031_post_join_learning")]
SIDE_BY_SIDE = [*BEFORE, ("ingestion", "0033_pre_separator_sheets")]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.only_on("postgresql", reason=CANNOT_MIGRATE_BACK),
]
NEW_COLUMNS = ("part_of_id", "first_page", "last_page", "region")


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return executor.loader.project_state(targets).apps


@pytest.fixture
def document(monkeypatch):
    """A filed document of a database that is then taken back to the release before."""
    monkeypatch.setattr(division, "_APPLIED", set())
    filed = make_filed(make_site(), "irb-approval", "a" * 64)
    yield filed
    executor = MigrationExecutor(connection)
    migrate([leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] == "ingestion"])


def can_be_divided(document):
    """Return whether the database accepts the state, and leave the row as it is."""
    try:
        with transaction.atomic():
            Document.objects.filter(pk=document.pk).update(state="DIVIDED")
            transaction.set_rollback(True)
    except IntegrityError:
        return False
    return True


def test_documents_of_old_databases_are_whole_files_and_files_are_divided_at_the_end(document):
    old = migrate(BEFORE).get_model("ingestion", "Document")
    row = old.objects.get(pk=document.pk)
    assert not {"part_of", "first_page"} & {field.name for field in old._meta.get_fields()}
    migrate(SIDE_BY_SIDE)
    # Code of the release before still writes rows.
    row.pk, row.doc_id, row.state, row.sha256 = None, "cv", "RECEIVED", ""
    row.save(force_insert=True)
    for values in Document.objects.values_list(*NEW_COLUMNS):
        assert values == (None, 0, 0, "")
    assert not can_be_divided(document)
    assert not division.is_enabled()
    row.delete()
    executor = MigrationExecutor(connection)
    migrate([leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] == "ingestion"])
    assert can_be_divided(document)
    assert division.is_enabled()
