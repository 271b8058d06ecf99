"""Fixtures: a registered client with a key, and an archive of its own."""

import uuid
from datetime import UTC, datetime

import pytest
from django.test import Client
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from sites.models import FhirClient
from tests.ledger_check import _the_ledger_holds  # noqa: F401 - an autouse fixture

TOKEN_URL = "http://testserver/fhir/auth/token"
EVERY_TYPE = ["AuditEvent", "DocumentReference", "Organization", "Practitioner"]
ASYNC = {"prefer": "respond-async", "accept": "application/fhir+json"}


@pytest.fixture(scope="session")
def rsa_key():
    return RSAKey.generate_key(2048, {"kid": "rsa-1"})


@pytest.fixture(scope="session")
def ec_key():
    return ECKey.generate_key("P-384", {"kid": "ec-1"})


class BulkClient:
    """A client of the export, which signs assertions with a key."""

    def __init__(self, row, key, algorithm="RS384"):
        self.row, self.key, self.algorithm = row, key, algorithm
        self.token = ""
        self._client = Client(enforce_csrf_checks=True)

    def sign(self, key=None, algorithm="", **claims):
        now = int(datetime.now(UTC).timestamp())
        usual = {
            "iss": self.row.client_id,
            "sub": self.row.client_id,
            "aud": TOKEN_URL,
            "exp": now + 300,
            "jti": uuid.uuid4().hex,
        }
        claims = {name: value for name, value in (usual | claims).items() if value is not None}
        algorithm, key = algorithm or self.algorithm, key or self.key
        header = {"alg": algorithm, "kid": key.kid}
        return jwt.encode(header, claims, key, algorithms=[algorithm])

    def ask_for_token(self, scope="system/*.read", assertion="", **form):
        data = {
            "grant_type": "client_credentials",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": assertion or self.sign(),
            "scope": scope,
        }
        return self._client.post("/fhir/auth/token", data | form)

    def sign_in(self, scope="system/*.read"):
        self.token = self.ask_for_token(scope).json()["access_token"]
        return self

    def request(self, method, path, headers=None, **options):
        headers = {"authorization": f"Bearer {self.token}"} | (headers or {})
        path = path.removeprefix("http://testserver")
        return self._client.generic(method, path, headers=headers, **options)

    def get(self, path, **headers):
        return self.request("GET", path, headers=headers)

    def start(self, query="", **headers):
        return self.get(f"/fhir/$export{query}", **(ASYNC | headers))


def register(client_id, key, types=EVERY_TYPE, **columns):
    public = {"keys": [key.as_dict(private=False)]}
    return FhirClient.objects.create(
        client_id=client_id, name="Trial warehouse", public_keys=public, resource_types=types,
        **columns,
    )  # fmt: skip


@pytest.fixture
def bulk(db, rsa_key):
    return BulkClient(register("warehouse", rsa_key), rsa_key)


def check_outcome(response, status):
    """Check that the response is an OperationOutcome with this status, and return its issue."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/fhir+json"
    body = response.json()
    assert body["resourceType"] == "OperationOutcome"
    (issue,) = body["issue"]
    assert issue["severity"] == "error"
    return issue
