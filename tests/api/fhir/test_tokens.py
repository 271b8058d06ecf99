"""Access tokens of FHIR clients: SMART Backend Services with assertions of the client's keys."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core import signing
from django.core.exceptions import ValidationError
from joserfc.jwk import ECKey, RSAKey

from api.fhir import access_tokens
from sites.models import FhirClient
from sites.models.fhir_clients import UsedAssertion
from tests.api.fhir.conftest import BulkClient, check_outcome, register

NOW = int(datetime.now(UTC).timestamp())


def check_refused(response, status, error):
    assert response.status_code == status, response.content
    assert response["Cache-Control"] == "no-store"
    assert response.json()["error"] == error


@pytest.mark.parametrize("scope", ["system/AuditEvent.read", "system/AuditEvent.rs"])
def test_a_signed_assertion_gives_a_short_lived_token_for_its_scopes(bulk, scope):
    answer = bulk.ask_for_token(f"{scope} system/Patient.read openid")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("bearer", 300, scope)
    assert signing.loads(body["access_token"], salt=access_tokens._SALT)["types"] == ["AuditEvent"]


def test_a_client_can_use_es384(db, ec_key):
    client = BulkClient(register("elliptic", ec_key), ec_key, "ES384")
    assert client.ask_for_token().status_code == 200


def test_a_replayed_assertion_is_refused(bulk):
    assertion = bulk.sign()
    assert bulk.ask_for_token(assertion=assertion).status_code == 200
    check_refused(bulk.ask_for_token(assertion=assertion), 401, "invalid_client")
    UsedAssertion.objects.update(expires_at=datetime.now(UTC) - timedelta(hours=1))
    assert bulk.ask_for_token().status_code == 200
    assert UsedAssertion.objects.count() == 1  # the expired one is removed


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "http://testserver/other"},
        {"iss": "another-client"},
        {"sub": "another-client"},
        {"exp": NOW - 3_600},
        {"exp": NOW + 3_600},
        {"exp": "soon"},
        {"exp": None},
        {"nbf": NOW + 3_600},
        {"jti": None},
        {"jti": 7},
    ],
    ids=str,
)
def test_an_assertion_with_a_wrong_claim_is_refused(bulk, claims):
    check_refused(bulk.ask_for_token(assertion=bulk.sign(**claims)), 401, "invalid_client")
    assert not UsedAssertion.objects.exists()


def test_an_assertion_of_another_key_or_algorithm_is_refused(bulk, ec_key):
    other = RSAKey.generate_key(2048, {"kid": "rsa-1"})
    for key, algorithm in ((other, "RS384"), (bulk.key, "RS256"), (ec_key, "ES384")):
        assertion = bulk.sign(key=key, algorithm=algorithm)
        check_refused(bulk.ask_for_token(assertion=assertion), 401, "invalid_client")
    for assertion in ("", "a.b", "a.b.c", f"{bulk.sign()}x", "e30.e30."):
        answer = bulk.ask_for_token(client_assertion=assertion)
        check_refused(answer, 401, "invalid_client")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"client_assertion_type": "jwt"}, "invalid_request"),
        ({"scope": ""}, "invalid_scope"),
        ({"scope": "user/AuditEvent.read"}, "invalid_scope"),
        ({"scope": "system/AuditEvent.write"}, "invalid_scope"),
    ],
    ids=str,
)
def test_a_wrong_request_is_refused_with_its_oauth_error(bulk, form, error):
    check_refused(bulk.ask_for_token(**form), 400, error)


def test_a_client_gets_only_the_types_that_it_is_registered_for(db, rsa_key):
    client = BulkClient(register("narrow", rsa_key, ["Organization"]), rsa_key)
    check_refused(client.ask_for_token("system/AuditEvent.read"), 400, "invalid_scope")
    client.sign_in("system/*.read")
    check_outcome(client.start("?_type=AuditEvent"), 403)
    assert client.start("?_type=Organization").status_code == 202


def test_a_revoked_client_cannot_use_its_tokens(bulk):
    bulk.sign_in()
    FhirClient.objects.update(revoked_at=datetime.now(UTC))
    check_outcome(bulk.start(), 401)
    check_refused(bulk.ask_for_token(), 401, "invalid_client")


def test_an_expired_or_changed_token_is_refused(bulk, monkeypatch):
    bulk.sign_in()
    monkeypatch.setattr(access_tokens, "TOKEN_SECONDS", -1)
    assert "expired" in check_outcome(bulk.start(), 401)["details"]["text"]
    bulk.token += "x"
    refused = bulk.start()
    check_outcome(refused, 401)
    assert 'error="invalid_token"' in refused["WWW-Authenticate"]
    bulk.token = ""
    check_outcome(bulk.start(), 401)


def test_bad_assertions_are_limited(bulk, settings):
    settings.API_BAD_TOKENS_PER_MINUTE = 0
    answer = bulk.ask_for_token(client_assertion="a.b.c")
    check_refused(answer, 429, "temporarily_unavailable")
    assert answer["Retry-After"] == "60"


@pytest.mark.parametrize(
    "make_keys",
    [
        dict,
        lambda: {"keys": []},
        lambda: {"keys": ["x"]},
        lambda: {"keys": [{"kty": "RSA", "n": "!", "e": "AQAB"}]},
        lambda: {"keys": [ECKey.generate_key("P-384").as_dict(private=True)]},
        lambda: {"keys": [ECKey.generate_key("P-256").as_dict(private=False)]},
        lambda: {"keys": [RSAKey.generate_key(1024).as_dict(private=False)]},
        lambda: {"keys": [{"kty": "oct", "k": "c2VjcmV0"}]},
    ],
    ids=["nothing", "empty", "text", "no number", "private", "curve", "short", "symmetric"],
)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_keys_that_are_private_or_weak_cannot_be_registered(db, make_keys):
    row = FhirClient(client_id="x", name="x", public_keys=make_keys(), resource_types=[])
    with pytest.raises(ValidationError) as raised:
        row.clean()
    assert list(raised.value.message_dict) == ["public_keys"]
    assert json.dumps(row.public_keys)
