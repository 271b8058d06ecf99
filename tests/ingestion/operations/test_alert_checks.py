"""Tests of the system checks of the settings of alarms."""

import pytest

from ingestion.operations.alert_checks import check_alerts


def ids():
    return [message.id for message in check_alerts()]


def test_the_default_settings_have_no_messages():
    assert ids() == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ALERT_EMAILS", ["ops@example.org", "ops"], "ingestion.E070"),
        ("ALERT_WEBHOOK", "hooks.example.org", "ingestion.E072"),
        ("ALERT_WEBHOOK_SECRET_FILE", "/nowhere/secret", "ingestion.E073"),
        ("ALERT_AGAIN_HOURS", 0, "ingestion.E074"),
        ("WORKER_SILENT_SECONDS", 29, "ingestion.E075"),
    ],
)
def test_a_wrong_value_has_a_message(settings, name, value, expected):
    setattr(settings, name, value)
    assert ids() == [expected]


@pytest.mark.parametrize(
    ("content", "mode", "expected"),
    [("s", 0o600, []), ("s", 0o640, ["ingestion.E073"]), ("\n", 0o600, ["ingestion.E073"])],
)
def test_the_webhooks_secret_must_be_private_and_not_empty(
    settings, tmp_path, content, mode, expected
):
    secret = tmp_path / "secret"
    secret.write_text(content)
    secret.chmod(mode)
    settings.ALERT_WEBHOOK_SECRET_FILE = str(secret)
    assert ids() == expected
