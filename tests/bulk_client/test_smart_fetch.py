"""smart-fetch, a client that we did not write, runs a complete FHIR Bulk Data export.

smart-fetch is installed in an environment of its own (`make bulk-client`), and SiteLedger imports
nothing of it. It discovers the endpoints, signs in with `private_key_jwt`, starts an export, polls,
and downloads the files from a real web server and a real worker host. Of our resource types, its
command line requests DocumentReference. It sends `_since` only in the mode `updated`.
"""

import json
import subprocess

import pytest
from django.conf import settings as deployed
from joserfc.jwk import RSAKey

from audit.ledger import queries
from ingestion.models import Document
from sites.models import FhirClient
from tests.api.servers import web_server
from tests.factories import make_site
from tests.ingestion.hosts import PATIENT, worker_host
from tests.web.scenes import FILED, REJECTED, make_packet

SMART_FETCH = deployed.BASE_DIR / "var" / "bulk-client" / "bin" / "smart-fetch"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        not SMART_FETCH.exists(), reason="smart-fetch is not installed: make bulk-client"
    ),
]


@pytest.fixture
def key_file(tmp_path):
    """Register a client, and return the file with its private key as a JSON Web Key Set."""
    key = RSAKey.generate_key(2048, {"kid": "rsa-1", "alg": "RS384", "key_ops": ["sign"]})
    FhirClient.objects.create(
        client_id="warehouse",
        name="Trial warehouse",
        public_keys={"keys": [key.as_dict(private=False) | {"key_ops": ["verify"]}]},
        resource_types=["DocumentReference"],
    )
    path = tmp_path / "keys.jwks"
    path.write_text(json.dumps({"keys": [key.as_dict(private=True)]}))
    return path


def run_smart_fetch(address, key_file, folder, *options):
    done = subprocess.run(
        [
            SMART_FETCH, "bulk", "--fhir-url", f"{address}/fhir", "--smart-client-id", "warehouse",
            "--smart-key", key_file, "--type", "DocumentReference", "--no-compression", *options,
            folder,
        ],
        env={"HOME": str(folder.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def read_resources(folder):
    files = sorted(folder.glob("*DocumentReference*.ndjson"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_it_exports_every_document_and_later_only_what_has_changed(
    site, mara, settings, tmp_path, key_file
):
    make_packet(site, mara, FILED, REJECTED)
    all_documents, changed = tmp_path / "all", tmp_path / "changed"
    with web_server(settings) as address, worker_host(settings, **PATIENT):
        run_smart_fetch(address, key_file, all_documents)
        since = queries.get_last_recorded_at().isoformat().replace("+00:00", "Z")
        later = make_packet(make_site("0417"), mara, FILED).documents.get()
        run_smart_fetch(address, key_file, changed, "--since", since, "--since-mode", "updated")
    found = {resource["id"]: resource for resource in read_resources(all_documents)}
    assert set(found) == {
        f"document-{document.pk}" for document in Document.objects.exclude(pk=later.pk)
    }
    assert {resource["docStatus"] for resource in found.values()} == {"final", "preliminary"}
    assert [resource["id"] for resource in read_resources(changed)] == [f"document-{later.pk}"]
