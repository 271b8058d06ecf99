"""Tests of exporting a ledger that real work has filled."""

import json

import pytest
from fhir.resources.R4B.auditevent import AuditEvent

from audit.signing import checkpoints
from tests.audit.export.support import KEY, inspect, keep_checkpoint, make_export, publish, sign
from tests.factories import make_batch, make_filed, make_site

pytestmark = pytest.mark.django_db


@pytest.mark.requirement("R14")
def test_an_export_contains_the_retention_terms(settings, tmp_path):
    publish(settings, tmp_path / "anchors")
    make_filed(make_site("0203"), "cv-1", "ab" * 32)
    sign()
    for name, sites in (("whole", []), ("part", ["0203"])):
        run = json.loads((make_export(tmp_path / name, sites=sites) / "run.json").read_text())
        assert run["kept"] == [
            "Retained for 25 years after the end of study SLX-301, which has not ended."
        ]


@pytest.mark.requirement("R11")
def test_the_ledger_of_real_work_can_be_exported_as_a_whole_and_in_part(settings, tmp_path):
    publish(settings, tmp_path / "anchors")
    make_batch(documents=3)
    document = make_filed(make_site(), "cv-1", "ab" * 32)
    sign()
    package = make_export(tmp_path / "export")
    events = (package / "fhir" / "AuditEvent.ndjson").read_text().splitlines()
    assert {AuditEvent.model_validate_json(line).subtype[0].code for line in events} >= {
        "batch.queued", "document.received", "document.filed",
    }  # fmt: skip
    part = make_export(tmp_path / "part", correlation_id=str(document.correlation_id))
    of_submission = document.revision + 1 + document.batch.revision + 1
    assert len((part / "entries.ndjson").read_text().splitlines()) == of_submission
    for folder in (package, part):
        given = (
            "--vkey",
            KEY.verifier.text,
            "--known",
            keep_checkpoint(package, checkpoints.get_latest_checkpoint().size),
        )
        assert inspect(folder, "--part", *given)[0] == 0
