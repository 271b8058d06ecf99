"""Tests of the addresses of portals."""

import pytest
from django.core.exceptions import ValidationError

from sites.portal_origin import validate_portal_address


@pytest.mark.parametrize(
    "address",
    [
        "https://portal.example/1001/",
        "http://portal:8080/files/",
        "HTTPS://[::1]:8443",
        "https://a",
    ],
)
def test_an_address_may_have_any_host_name(address):
    validate_portal_address(address)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("https://me:secret@portal.example/", "without a user name or password"),
        ("portal.example/1001/", "begins with https://"),
        ("ftp://portal.example/", "begins with https://"),
        ("https://portal.example:port/", "begins with https://"),
    ],
)
def test_another_address_is_refused_with_the_reason(address, message):
    with pytest.raises(ValidationError, match=message):
        validate_portal_address(address)
