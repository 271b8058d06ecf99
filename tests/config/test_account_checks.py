"""System checks report settings of accounts that would lock out everybody or nobody."""

import pytest

from config.account_checks import check_accounts


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("LOCKOUT_FAILURES", 0, "config.E010"),
        ("LOCKOUT_MINUTES", 0, "config.E010"),
        ("LOCKOUT_FAILURES", 20, "config.W010"),
        ("LOCKOUT_ADDRESS_FAILURES", 5, "config.E011"),
        ("SESSION_IDLE_MINUTES", 2, "config.E012"),
        ("SESSION_HOURS", 0.1, "config.E013"),
        ("SESSION_IDLE_MINUTES", 90, "config.W011"),
        ("SESSIONS_AT_A_TIME", 0, "config.E018"),
        ("PASSWORD_LENGTH", 7, "config.E014"),
        ("PASSWORD_BREACH_SERVICE", "http://breaches.example/range", "config.E019"),
        ("PASSWORD_DAYS", -1, "config.E015"),
        ("ACCESS_REVIEW_DAYS", 0, "config.E016"),
        ("OTP_REQUIRED_ROLES", ["QA reviewer"], "config.E017"),
    ],
)
def test_invalid_settings_are_reported(settings, name, value, found):
    setattr(settings, name, value)
    assert [message.id for message in check_accounts()] == [found]


def test_the_default_settings_are_valid(settings):
    settings.OTP_REQUIRED_ROLES = ["QA reviewers", "Administrators", "Site coordinators"]
    assert check_accounts() == []
