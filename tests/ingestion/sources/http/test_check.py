"""Tests of `portal_check`: it reports whether a portal is ready, and fetches no document."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command

from ingestion.core.breaker import BreakerState
from ingestion.core.limiter import RequestRate
from ingestion.dispatch import portal_limit_rows
from ingestion.models import PortalLimitState
from ingestion.sources.http.check import check_portal
from sites.models import Portal
from sites.portal_origin import parse_origin
from tests.factories import make_site
from tests.ingestion.sources.http.conftest import LIMITS, make_item, resolve_to_loopback
from tests.ingestion.sources.http.servers import (
    give,
    redirect,
    serve,
    server_tls,
    silent,
)


async def remarks(url, **terms):
    return await check_portal(make_item(url, **terms).terms, LIMITS, resolve=resolve_to_loopback)


async def goodness_by_sentence(url, **terms):
    return {remark.sentence: remark.is_good for remark in await remarks(url, **terms)}


async def test_a_ready_portal_receives_one_head_request(portal):
    portal.on("/", give(b"x" * 1000))
    found = await goodness_by_sentence(portal.url())
    rate, *others = found
    assert rate.startswith("Limit: 10 requests per second, 1 at once, over 2 connections.")
    assert others == [
        "127.0.0.1 (127.0.0.1) answered 200.",
        "The connection is not encrypted (http), as the portal's settings allow.",
        (
            "The portal accepted the request, sent without a secret "
            "(PORTAL_SECRET_SITE_1001 is not set)."
        ),
        "The portal's clock agrees with ours.",
    ]
    assert all(found.values())
    assert [(method, path) for method, path, _ in portal.seen] == [("HEAD", "/")]


async def test_a_portal_without_head_receives_a_get_request(portal):
    portal.on("/", give(b"", 405), give(b"x" * 1000))
    assert all((await goodness_by_sentence(portal.url())).values())
    assert [method for method, *_ in portal.seen] == ["HEAD", "GET"]


async def test_a_portal_without_a_page_at_its_base_address_is_ready(portal):
    assert all((await goodness_by_sentence(portal.url())).values())


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_are_named_without_their_value(portal, settings, status):
    settings.PORTAL_SECRETS = {"PORTAL_SECRET_SITE_1001": "Bearer wrong"}
    portal.on("/", give(b"", status))
    sentence = "The portal refused the request, sent with PORTAL_SECRET_SITE_1001 in Authorization."
    found = await goodness_by_sentence(portal.url())
    assert found[sentence] is False
    assert "wrong" not in str(found)
    assert portal.headers("/")[0]["Authorization"] == "Bearer wrong"


async def test_accepted_credentials_are_named(portal, settings):
    settings.PORTAL_SECRETS = {"PORTAL_SECRET_SITE_1001": "17"}
    portal.on("/", give())
    found = await goodness_by_sentence(portal.url(), secret_header="X-Api-Key")
    assert found["The portal accepted the request, sent with PORTAL_SECRET_SITE_1001 in X-Api-Key."]


@pytest.mark.parametrize("days", [30, 5])
async def test_a_certificate_that_ends_soon_is_a_bad_remark(authority, settings, days):
    settings.PORTAL_SECRETS = {"PORTAL_CA_SITE_1001": str(authority.path)}
    with serve(server_tls(authority.certificate("portal.example", days=days))) as portal:
        portal.on("/", give())
        found = await remarks(portal.url(host="portal.example"))
    (tls,) = [remark for remark in found if remark.sentence.startswith("TLSv1.")]
    assert "the certificate is valid until" in tls.sentence
    assert tls.is_good is (days == 30)


async def test_a_certificate_of_an_unknown_authority_is_a_bad_remark(authority):
    with serve(server_tls(authority.certificate("portal.example"))) as portal:
        found = await remarks(portal.url(host="portal.example"))
    assert "CERTIFICATE_VERIFY_FAILED" in found[-1].sentence
    assert not found[-1].is_good


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (give(b"", 503), "cannot serve at the moment: it answered 503"),
        (give(b"", 429), "cannot serve at the moment: it answered 429"),
        (redirect("https://login.example/"), "login.example:443 is not one of the portal's hosts"),
        (silent, "no answer within"),
    ],
)
async def test_each_problem_is_a_bad_remark(portal, answer, why):
    portal.on("/", answer)
    bad = [
        each.sentence
        for each in await remarks(portal.url(), timeout_seconds=0.3)
        if not each.is_good
    ]
    assert any(why in sentence for sentence in bad), bad


@pytest.mark.parametrize(("seconds", "is_good"), [(-120, True), (120, True), (4000, False)])
async def test_a_wrong_clock_is_remarked(portal, seconds, is_good):
    def off(handler):
        theirs = datetime.now(UTC) + timedelta(seconds=seconds)
        handler.date_time_string = lambda timestamp=None: theirs.strftime(
            "%a, %d %b %Y %H:%M:%S GMT"
        )
        give()(handler)

    portal.on("/", off)
    (clock,) = [each for each in await remarks(portal.url()) if "clock" in each.sentence]
    assert clock.is_good is is_good
    assert ("ahead of" if seconds > 0 else "behind") in clock.sentence


async def test_unusable_credentials_are_remarked_before_any_request(portal, settings):
    settings.PORTAL_SECRETS = {"PORTAL_CA_SITE_1001": "/no/such/file"}
    found = await remarks(portal.url())
    assert "cannot be used for TLS" in found[-1].sentence
    assert not portal.seen


@pytest.mark.django_db
def test_the_command_reports_a_ready_portal(portal, capsys):
    portal.on("/1001/", give())
    make_site("1001", base_url=portal.url("/1001/"))
    call_command("portal_check", "1001")
    assert capsys.readouterr().out.startswith(
        f"Portal site-1001 of site 1001, {portal.url('/1001/')}\nok "
    )


@pytest.mark.django_db
def test_the_command_reserves_slots_of_the_limit_that_workers_share(portal, capsys, monkeypatch):
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)

    portal.on("/1001/", give(b"", 405), give())
    site = make_site("1001", base_url=portal.url("/1001/"), rate_per_second=10, burst=1)
    pace = RequestRate.of(10, 1)
    before = portal_limit_rows.reserve_tokens(site.portal_id, pace, 6000)
    monkeypatch.setattr("ingestion.sources.http.check.asyncio.sleep", pause)
    call_command("portal_check", "1001")
    assert "The portal is in use: the next request may start in " in capsys.readouterr().out
    assert [method for method, *_ in portal.seen] == ["HEAD", "GET"]
    assert min(pauses) > 300  # of 600 seconds: the rest is for a machine that is busy
    assert PortalLimitState.objects.get().tat == before.receipt + round(2e6 * pace.interval)


@pytest.mark.django_db
def test_the_command_checks_a_portal_whose_circuit_breaker_is_open(portal, capsys):
    portal.on("/1001/", give())
    site = make_site("1001", base_url=portal.url("/1001/"))
    PortalLimitState.objects.create(portal=site.portal, breaker=BreakerState.OPEN, probe_at=2**52)
    call_command("portal_check", "1001")
    assert "The portal's breaker is open, so workers do not ask it now." in capsys.readouterr().out
    assert PortalLimitState.objects.get().breaker == BreakerState.OPEN


@pytest.mark.django_db
def test_the_command_fails_for_an_unready_portal_and_for_an_unknown_site(portal, capsys):
    portal.on("/1001/", give(b"", 403))
    make_site("1001", base_url=portal.url("/1001/"))
    with pytest.raises(CommandError, match="the portal of site 1001 is not ready"):
        call_command("portal_check", "1001")
    assert "BAD  The portal refused the request" in capsys.readouterr().out
    with pytest.raises(CommandError, match="there is no site '7'"):
        call_command("portal_check", "7")


@pytest.mark.django_db
def test_the_command_checks_the_mirrors_of_the_portal_too(portal, capsys):
    portal.on("/1001/", give())
    portal.on("/copies/", give(b"", 403))
    site = make_site("1001", base_url=portal.url("/1001/"))
    Portal.objects.create(
        key="copies",
        base_url=portal.url("/copies/"),
        mirror_of=site.portal,
        mirror_order=1,
        rate_per_second=100.0,
        allow_http=True,
        allow_private_hosts=True,
        approved_origin=parse_origin(portal.url("/copies/")),
    )
    with pytest.raises(CommandError, match=r"^the mirror copies of site 1001 is not ready$"):
        call_command("portal_check", "1001")
    assert f"Mirror copies of site 1001, {portal.url('/copies/')}\n" in capsys.readouterr().out
