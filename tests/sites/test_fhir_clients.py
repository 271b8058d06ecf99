"""FHIR clients are registered, changed and revoked by administrators, on record."""

import json

import pytest
from joserfc.jwk import ECKey

from audit.ledger.queries import list_entries
from audit.verification import row_check
from sites.models import FhirClient
from tests.factories import make_user

ADD = "/admin/clinical_sites/fhirclient/add/"
WHY = "The sponsor's warehouse reads the audit trail."


@pytest.fixture
def ada(client, db):
    client.force_login(make_user("ada", is_staff=True, is_superuser=True), "sites.backends.People")
    return client


def keys(**options):
    return json.dumps({"keys": [ECKey.generate_key("P-384").as_dict(**options)]})


def register(ada, **changes):
    fields = {
        "client_id": "warehouse",
        "name": "Warehouse of the sponsor",
        "public_keys": keys(private=False),
        "resource_types": ["AuditEvent", "Organization"],
    }
    return ada.post(ADD, fields | changes)


def test_a_client_is_registered_and_revoked_on_record(ada):
    assert register(ada).status_code == 302
    row = FhirClient.objects.get()
    (created,) = list_entries(f"fhirclient:{row.pk}")
    assert created.event == "fhirclient.created"
    assert "warehouse" in str(created.detail)
    action = {"action": "revoke", "_selected_action": [row.pk], "reason_for_change": WHY}
    ada.post("/admin/clinical_sites/fhirclient/", action)
    row.refresh_from_db()
    assert not row.is_usable
    changed = list_entries(f"fhirclient:{row.pk}")[-1]
    assert (changed.event, changed.detail["reason"]) == ("fhirclient.changed", WHY)


def test_a_private_key_is_refused(ada):
    answer = register(ada, public_keys=keys(private=True))
    assert "Enter public keys only." in answer.content.decode()
    assert not FhirClient.objects.exists()


def test_a_client_that_was_added_past_the_admin_is_found(ada):
    assert register(ada).status_code == 302
    assert list(row_check.check_rows_against_ledger()) == []
    FhirClient.objects.update(resource_types=["AuditEvent", "Practitioner"])
    (finding,) = row_check.check_rows_against_ledger()
    assert "fhirclient" in str(finding)
