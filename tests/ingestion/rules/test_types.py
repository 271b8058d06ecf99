from pathlib import Path

import pytest

from ingestion.rules import document_types
from ingestion.rules.document_types import (
    TYPES,
    TypesError,
    TypesFile,
    load_types,
)

TEXT = Path(document_types.__file__).with_name("types.toml").read_text(encoding="utf-8")
SLUGS = [
    "protocol-signature-page",
    "irb-approval",
    "form-fda-1572",
    "cv",
    "medical-licence",
    "gcp-certificate",
    "human-subjects-certificate",
    "social-behavioral-certificate",
    "data-specimens-certificate",
    "rcr-certificate",
    "lab-certification",
    "lab-normal-ranges",
    "financial-disclosure",
    "delegation-log",
    "protocol-amendment-signature-page",
    "brochure-acceptance",
    "confidentiality-agreement",
    "clinical-trial-agreement",
    "irb-roster",
    "informed-consent-form",
    "training-log",
    "insurance-certificate",
]


def test_the_common_types_exist():
    assert list(TYPES) == SLUGS


@pytest.mark.parametrize("slug", SLUGS)
def test_every_type_can_be_recognised_and_filed(slug):
    kind = TYPES[slug]
    assert sum(mark.weight for mark in kind.landmarks if mark.weight > 0) >= 6
    assert kind.tmf is None or kind.tmf.tmf_rm_version == "3.3.1"
    assert kind.signature is None or kind.signature.labels


def test_artifacts_are_those_of_the_reference_model():
    filed = {s: (kind.tmf.artifact, kind.tmf.uid) for s, kind in TYPES.items() if kind.tmf}
    assert set(TYPES) - set(filed) == {
        "rcr-certificate"
    }  # its place in the TMF Reference Model is not known
    assert filed["human-subjects-certificate"] == ("05.02.07", "090")
    assert filed["form-fda-1572"] == ("05.02.08", "091")
    assert filed["irb-approval"] == ("04.01.02", "066")
    assert filed["gcp-certificate"] == ("05.02.07", "090")
    assert filed["protocol-amendment-signature-page"] == ("05.02.03", "086")
    assert filed["brochure-acceptance"] == ("05.02.01", "084")
    assert filed["confidentiality-agreement"] == ("05.01.02", "080")
    assert filed["clinical-trial-agreement"] == ("05.02.12", "095")
    assert filed["irb-roster"] == ("04.01.03", "067")
    assert filed["informed-consent-form"] == ("02.02.03", "040")
    assert filed["training-log"] == ("05.03.03", "104")
    assert filed["insurance-certificate"] == ("02.01.06", "036")


def test_only_personal_documents_are_per_person():
    assert [slug for slug, kind in TYPES.items() if kind.per_person] == [
        "cv",
        "medical-licence",
        "gcp-certificate",
        "human-subjects-certificate",
        "social-behavioral-certificate",
        "data-specimens-certificate",
        "rcr-certificate",
        "financial-disclosure",
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'signer = "investigator"',
            'signer = "sponsor"',
            "types.protocol-signature-page: signature.signer",
        ),
        ("weight = 6 }", 'weight = "six" }', "types.protocol-signature-page: landmarks.0.weight"),
        ('artifact = "05.02.08"', 'artifact = "5.2.8"', "types.form-fda-1572: tmf.artifact"),
        ("per_person = true", "per_preson = true", "types.cv: per_preson"),
        ('kind = "number"', 'kind = "numbr"', "fields.protocol_number: kind"),
        ('expires = "expiry_date"', 'expires = "expires"', "types.irb-approval: validity.expires"),
        ('required = ["approval_date"]', 'required = ["approved"]', "types.irb-approval: required"),
        (
            'fields = ["cv_person"',
            'fields = ["persn"',
            "types.cv: fields: there is no [fields.persn]",
        ),
        ('fields = ["person", "course"', 'fields = ["person"', "types.gcp-certificate: expected"),
        ("[types.cv]", "[types.cv", "types.toml: "),
        ('from = "approval_date"\n', "", "types.irb-approval: validity.from"),
    ],
    ids=lambda value: value if value.startswith("types") else "",
)
def test_an_error_in_the_file_names_its_type_and_key(old, new, complaint):
    assert old in TEXT
    with pytest.raises(TypesError) as caught:
        load_types(TypesFile("types.toml", TEXT.replace(old, new, 1)))
    assert complaint in str(caught.value)
