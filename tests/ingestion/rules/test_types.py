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
    "irb-exemption",
    "irb-amendment-approval",
    "irb-continuing-review",
    "irb-acknowledgement",
    "irb-changes-requested",
    "irb-disapproval",
    "form-fda-1572",
    "form-fda-1571",
    "form-fda-3674",
    "cv",
    "nih-biosketch",
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
    "irb-compliance-statement",
    "regulatory-approval",
    "investigator-undertaking",
    "site-initiation-report",
    "monitoring-report",
    "monitoring-follow-up",
    "monitoring-visit-log",
    "ip-shipment-record",
    "ip-accountability-log",
    "ip-handling-instructions",
    "ip-sample-label",
    "ip-destruction-record",
    "certificate-of-analysis",
    "storage-temperature-log",
    "unblinding-procedure",
    "calibration-record",
    "screening-enrolment-log",
    "safety-notification",
    "protocol-deviation-log",
    "note-to-file",
    "data-privacy-agreement",
]


def test_the_common_types_exist():
    assert list(TYPES) == SLUGS


def test_every_type_can_be_recognised_and_filed():
    for slug in SLUGS:
        kind = TYPES[slug]
        assert sum(mark.weight for mark in kind.landmarks if mark.weight > 0) >= 6, slug
        assert kind.tmf is None or kind.tmf.tmf_rm_version == "3.3.1", slug
        assert kind.signature is None or kind.signature.labels, slug


ARTIFACTS = {
    "insurance-certificate": ("02.01.06", "036"),
    "informed-consent-form": ("02.02.03", "040"),
    "regulatory-approval": ("03.01.02", "053"),
    "irb-approval": ("04.01.02", "066"),
    "irb-roster": ("04.01.03", "067"),
    "irb-compliance-statement": ("04.01.05", "069"),
    "confidentiality-agreement": ("05.01.02", "080"),
    "brochure-acceptance": ("05.02.01", "084"),
    "protocol-amendment-signature-page": ("05.02.03", "086"),
    "nih-biosketch": ("05.02.04", "087"),
    "cv": ("05.02.04", "087"),
    "human-subjects-certificate": ("05.02.07", "090"),
    "gcp-certificate": ("05.02.07", "090"),
    "form-fda-1572": ("05.02.08", "091"),
    "investigator-undertaking": ("05.02.09", "092"),
    "data-privacy-agreement": ("05.02.11", "094"),
    "clinical-trial-agreement": ("05.02.12", "095"),
    "site-initiation-report": ("05.03.01", "102"),
    "training-log": ("05.03.03", "104"),
    "screening-enrolment-log": ("05.04.01", "105"),
    "monitoring-report": ("05.04.03", "107"),
    "monitoring-visit-log": ("05.04.04", "108"),
    "protocol-deviation-log": ("05.04.06", "110"),
    "safety-notification": ("05.04.09", "113"),
    "monitoring-follow-up": ("05.04.12", "241"),
    "note-to-file": ("05.05.04", "117"),
    "ip-handling-instructions": ("06.01.02", "119"),
    "ip-sample-label": ("06.01.03", "120"),
    "ip-shipment-record": ("06.01.04", "121"),
    "ip-accountability-log": ("06.01.05", "122"),
    "ip-destruction-record": ("06.01.11", "128"),
    "certificate-of-analysis": ("06.02.04", "132"),
    "unblinding-procedure": ("06.03.02", "134"),
    "storage-temperature-log": ("06.04.01", "136"),
    "calibration-record": ("06.04.03", "243"),
}


def test_artifacts_are_those_of_the_reference_model():
    filed = {s: (kind.tmf.artifact, kind.tmf.uid) for s, kind in TYPES.items() if kind.tmf}
    assert {slug: filed[slug] for slug in ARTIFACTS} == ARTIFACTS
    # Its place in the TMF Reference Model is not known.
    assert set(TYPES) - set(filed) == {"rcr-certificate"}


def test_all_decisions_of_ethics_committees_have_one_artifact():
    decisions = [kind for kind in TYPES.values() if kind.family == "ethics-decision"]
    assert len(decisions) == 7
    assert {kind.tmf.artifact for kind in decisions} == {"04.01.02"}


def test_only_a_continuing_review_stands_in_for_an_approval():
    assert [slug for slug, kind in TYPES.items() if "irb-approval" in kind.satisfies] == [
        "irb-continuing-review"
    ]


def test_a_type_adds_its_landmarks_to_those_of_its_family():
    ethics = TYPES["irb-approval"], TYPES["irb-disapproval"]
    phrases = [{mark.phrases[0] for mark in kind.landmarks} for kind in ethics]
    assert "institutional review board" in phrases[0] & phrases[1]
    assert phrases[0] != phrases[1]


def test_only_personal_documents_are_per_person():
    assert [slug for slug, kind in TYPES.items() if kind.per_person] == [
        "cv",
        "nih-biosketch",
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
        (
            'family = "ethics-decision"',
            'family = "ethics"',
            "types.irb-approval: family: there is no [families.ethics]",
        ),
        (
            'satisfies = ["cv"]',
            'satisfies = ["vita"]',
            "types.nih-biosketch: satisfies: there is no [types.vita]",
        ),
        ('from = "approval_date"\n', "", "types.irb-approval: validity.from"),
    ],
    ids=lambda value: value if value.startswith("types") else "",
)
def test_an_error_in_the_file_names_its_type_and_key(old, new, complaint):
    assert old in TEXT
    with pytest.raises(TypesError) as caught:
        load_types(TypesFile("types.toml", TEXT.replace(old, new, 1)))
    assert complaint in str(caught.value)
