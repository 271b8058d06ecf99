"""Tests that system checks report each invalid setting of the ledger."""

import pytest

from audit import checks
from audit.signing import keys


def ids():
    return [message.id for message in checks.check_settings()]


def test_a_missing_key_is_the_only_warning():
    assert ids() == ["audit.W010"]


def test_a_ledger_with_a_key_has_no_warnings(key):
    assert ids() == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("AUDIT_ORIGIN", "two words", "audit.E010"),
        ("AUDIT_ORIGIN", "", "audit.E010"),
        ("AUDIT_CHECKPOINT_ENTRIES", 0, "audit.E011"),
        ("AUDIT_CHECKPOINT_SECONDS", -1, "audit.E011"),
        ("ANCHOR_S3_YEARS", 0, "audit.E011"),
        ("ANCHOR_TIMEOUT_SECONDS", 0.0, "audit.E011"),
        ("AUDIT_CLOCK_SKEW_SECONDS", 0.0, "audit.E011"),
        ("ANCHOR_S3_ENDPOINT", "minio.example.org", "audit.E013"),
    ],
)
def test_an_invalid_setting_is_reported(settings, name, value, expected):
    setattr(settings, name, value)
    assert expected in ids()


def test_a_file_instead_of_the_anchor_folder_is_reported(settings, tmp_path):
    settings.ANCHOR_DIR = tmp_path / "file"
    settings.ANCHOR_DIR.write_text("")
    assert "audit.E012" in ids()


def test_a_time_stamp_authority_needs_an_address_and_certificates(settings, tmp_path):
    settings.ANCHOR_TSA = "tsa.example.org"
    settings.ANCHOR_TSA_CERTIFICATES = str(tmp_path / "none.pem")
    assert {"audit.E014", "audit.E015"} <= set(ids())


def test_a_key_that_others_can_read_is_reported(key):
    keys.get_private_file().chmod(0o644)
    assert ids() == ["audit.E016"]
