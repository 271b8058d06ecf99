"""Defines fixtures: a small corpus, its submission, and the transports of wakeups."""

import dataclasses
import datetime
import json

import pytest
from django.core.management import call_command

from audit.ledger.actors import Actor
from ingestion.intake import manifest, registration, submission
from ingestion.models import BatchSource
from samples.corpus import write_corpus
from tests.ingestion.brokers import redis_server

SUBMISSION = submission.Submission(BatchSource.MANIFEST, Actor("system:tests", "ops"))
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"


@pytest.fixture(scope="session")
def one_site(tmp_path_factory):
    """The packet of one site, without scans, written once for all tests."""
    return _corpus(tmp_path_factory, sites=1, has_scans=False)


@pytest.fixture(scope="session")
def one_site_with_scans(tmp_path_factory):
    """The packet of one site. Reading its scans takes ten times as long as reading the others."""
    return _corpus(tmp_path_factory, sites=1)


@pytest.fixture(scope="session")
def two_sites(tmp_path_factory):
    """The packets of two sites without scans, for tests about another site."""
    return _corpus(tmp_path_factory, sites=2, has_scans=False)


def _corpus(folders, **options):
    today = datetime.datetime.now(datetime.UTC).date()
    return write_corpus(folders.mktemp("corpus"), base_url=NOWHERE, today=today, **options)


@pytest.fixture(scope="session")
def few(one_site):
    """Three documents of `one_site` that are read quickly."""
    return only(one_site, "irb-approval", "cv-whitfield", "gcp-certificate-whitfield")


def only(corpus, *doc_ids):
    """Return the corpus reduced to these documents."""
    lines = [json.loads(line) for line in corpus.manifest.read_text().splitlines()]
    file = corpus.directory / f"{'-'.join(doc_ids)}.ndjson"
    file.write_text("\n".join(json.dumps(line) for line in lines if line["doc_id"] in doc_ids))
    expected = tuple(each for each in corpus.expectations if each.doc_id in doc_ids)
    return dataclasses.replace(corpus, manifest=file, documents=len(doc_ids), expectations=expected)


@pytest.fixture
def submit(tmp_path):
    """A function that registers a corpus as offered by the portal that runs now."""

    def submit(corpus, portal):
        files = []
        for source in (corpus.sites, corpus.manifest):
            files.append(tmp_path / source.name)
            files[-1].write_text(source.read_text().replace(NOWHERE, portal.base_url))
        call_command("load_sites", str(files[0]), verbosity=0)
        return registration.register_manifest(
            manifest.read_manifest(files[1].read_text()), SUBMISSION
        )

    return submit


@pytest.fixture(params=["database", pytest.param("redis", marks=pytest.mark.slow)])
def broker(request):
    """The environment variables of a host that choose the transport of wakeups."""
    if request.param == "database":
        yield {}
        return
    with redis_server() as url:
        yield {"REDIS_URL": url}
