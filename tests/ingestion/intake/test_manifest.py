"""Tests of manifests, which are accepted as a whole or refused with all faults."""

import json
import re
from dataclasses import replace

import pytest
from django.conf import settings

from audit.ledger.queries import list_entries
from ingestion.intake import manifest, registration, submission_schemas
from ingestion.intake.submission import IdempotencyKeyReused, Submission
from ingestion.intake.submission_schemas import DeclaredDetails
from ingestion.models import BatchSource
from ingestion.reading.languages import LANGUAGE_CODES, NAMES
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from tests.factories import OPS, make_site

pytestmark = pytest.mark.django_db


def line(**changes) -> str:
    fields = {
        "site_id": "1001",
        "doc_id": "cv-1",
        "url": "http://127.0.0.1:9/1001/cv-1.pdf",
        "schema_version": "v2.1",
    }
    return json.dumps(fields | changes)


def faults(text: str) -> list[str]:
    with pytest.raises(manifest.SubmissionRefused) as refused:
        manifest.read_manifest(text)
    return [str(fault) for fault in refused.value.faults]


@pytest.fixture(autouse=True)
def _site():
    make_site("1001")


def test_ndjson_and_a_json_list_are_equivalent():
    lines = manifest.read_manifest(f"{line()}\n\n{line(doc_id='cv-2')}\n")
    assert lines == manifest.read_manifest(f"[{line()}, {line(doc_id='cv-2')}]")


def test_every_fault_is_named_with_its_line_and_field():
    text = "\n".join(
        [
            line(),
            line(site_id="9999", doc_id="a"),
            "{not json",
            line(),
            line(schema_version="v9", doc_id="b"),
        ]
    )
    found = faults(text)
    assert found[0] == (
        "line 2: site_id: There is no site '9999' for which you may submit. Check the number. "
        "Operations adds new sites with the command load_sites."
    )
    assert found[1].startswith("line 3: This is not JSON: ")
    assert found[2] == (
        "line 4: doc_id: Line 1 has the same doc_id 'cv-1' for this site. Remove one of the lines, "
        "or correct its doc_id."
    )
    assert found[3].startswith("line 5: schema_version: The schema version 'v9' is not ")


def test_a_repeated_field_is_a_fault_of_its_line():
    twice = line().replace('"doc_id"', '"doc_id": "cv-9", "doc_id"')
    message = 'is not JSON: the name "doc_id" is given twice in one object'
    assert faults(f"{line(doc_id='cv-2')}\n{twice}") == [f"line 2: This {message}."]
    in_a_list = faults(f"[{line(doc_id='cv-2')},\n{twice}]")
    assert in_a_list[0] == f"line 2: The list {message}."


@pytest.mark.parametrize("text", ['{"site_id": %s}', '[{"site_id": %s}]'])
def test_a_number_of_any_length_is_a_fault_of_its_line(text):
    (found,) = faults(text % ("9" * 5_000))
    assert "a number has more than 300 digits" in found


@pytest.mark.parametrize("text", ["", "\n\n", "[]"])
def test_an_empty_manifest_is_refused(text):
    assert faults(text) == ["the file: The manifest is empty. List at least one document."]


def test_missing_and_unknown_fields_are_named():
    text = json.dumps({"site_id": "1001", "doc_id": "x", "schema_version": "v2.1", "href": "y"})
    assert faults(text) == [
        "line 1: href: There is no field of this name here. Remove it, or correct its name.",
        "line 1: url: This field is missing. Add it.",
    ]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://elsewhere.example/x.pdf", "does not belong to the site's portal"),
        ("http://user:secret@127.0.0.1:9/x.pdf", "does not belong to the site's portal"),
        ("http://127.0.0.1:22/x.pdf", "does not belong to the site's portal"),
        ("file:///etc/passwd", "Send an address that begins with https or http."),
        ("http://[::1/x", "is not an address"),
    ],
)
def test_addresses_outside_of_the_portal_of_the_site_are_refused(url, why):
    assert why in faults(line(url=url))[0]


def test_plain_http_is_refused_unless_the_portal_allows_it():
    site = make_site("2002", allow_http=False)
    url = f"{site.portal.base_url}x.pdf"
    assert faults(line(site_id="2002", url=url)) == [
        "line 1: url: Send an address that begins with https. This portal does not permit http."
    ]


def test_a_line_that_is_not_an_object_is_named():
    assert faults("17") == ["line 1: Send a JSON object."]


def test_an_unknown_type_and_an_invalid_sha256_are_named():
    found = faults(line(document_type="passport", sha256="XYZ"))
    assert found == ["line 1: sha256: Send 64 lower-case hexadecimal digits."]
    assert "'passport' is not a document type." in faults(line(document_type="passport"))[0]


DECLARED = {"language": "fr", "person": {"name": "Ana Ruiz", "role": "Pharmacist"}, "version": "3"}


def test_each_supported_version_has_a_model_of_its_own():
    assert tuple(submission_schemas.MANIFEST_SCHEMAS) == SCHEMA_VERSIONS


def test_version_2_1_declares_language_person_and_version():
    (read,) = manifest.read_manifest(line(**DECLARED))
    assert (read.person, read.details) == ("Ana Ruiz", DeclaredDetails("Pharmacist", "fra", "3"))


def test_version_2_0_is_accepted_as_before_and_declares_none_of_them():
    (read,) = manifest.read_manifest(line(schema_version="v2.0"))
    (same,) = manifest.read_manifest(line())
    assert read == replace(same, schema_version="v2.0")


@pytest.mark.parametrize("field", DECLARED)
def test_a_field_of_a_later_version_is_refused_with_that_version(field):
    found = faults(line(schema_version="v2.0", **{field: DECLARED[field]}))
    message = "Schema version v2.0 does not permit this. Send it with v2.1."
    assert found == [f"line 1: {field}: {message}"]


@pytest.mark.parametrize("version", ["v3.0", 2.1, None])
def test_a_document_of_an_unsupported_version_is_refused_before_it_is_parsed(version):
    found = faults(line(schema_version=version, url="", document_type="passport", pages=7))
    message = f"The schema version {version!r} is not supported. Send 'v2.0' or 'v2.1'."
    assert found == [f"line 1: schema_version: {message}"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"language": "klingon"}, "language: 'klingon' is not a language that can be declared"),
        ({"person": "Ana"}, 'person: Send a JSON object with the name of the person, as in {"name'),
        ({"person": {"role": "Pharmacist"}}, "person.name: This field is missing. Add it."),
        ({"person": {"name": "A" * 81}}, "person.name: Write at most 80 characters."),
        ({"version": "3" * 41}, "version: "),
    ],
)
def test_invalid_declarations_are_named_with_their_field(fields, message):
    (found,) = faults(line(**fields))
    assert found.startswith(f"line 1: {message}")


def test_what_is_declared_is_stored_and_recorded():
    (read,) = manifest.read_manifest(line(document_type="cv", **DECLARED))
    submission = Submission(BatchSource.MANIFEST, OPS, idempotency_key="key-1")
    document = registration.register_manifest([read], submission).documents.get()
    assert (document.declared_person, document.person_role) == ("Ana Ruiz", "Pharmacist")
    assert (document.declared_language, document.declared_version) == ("fra", "3")
    entry = next(e for e in list_entries(document.subject) if e.event == "document.received")
    recorded = {name: entry.detail[name] for name in document.declared_facts}
    assert recorded == {
        "person": "Ana Ruiz", "person_role": "Pharmacist", "language": "fra", "version": "3",
    }  # fmt: skip


def test_another_declaration_under_the_same_key_is_another_submission():
    submission = Submission(BatchSource.MANIFEST, OPS, idempotency_key="key-1")
    first = registration.register_manifest(manifest.read_manifest(line()), submission)
    repeated = registration.register_manifest(manifest.read_manifest(line()), submission)
    assert first == repeated
    with pytest.raises(IdempotencyKeyReused):
        registration.register_manifest(manifest.read_manifest(line(version="2")), submission)


def test_the_documentation_lists_exactly_the_codes_with_which_a_language_can_be_declared():
    text = (settings.BASE_DIR / "docs" / "manifests.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `([\w-]+)` \| (.+) \|$", text, re.MULTILINE)
    assert {name: label for name, _, label in rows} == NAMES
    codes = {name: name for name in NAMES} | {short: name for name, short, _ in rows}
    assert codes == LANGUAGE_CODES
