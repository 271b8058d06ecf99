"""Tests of the import of sites: it is complete or has no effect, recorded, and repeatable."""

import json

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from audit.ledger.queries import EntrySearch, find_entries, list_entries
from sites.models import Portal, Site, User
from tests.factories import make_site, make_staff, make_user

pytestmark = pytest.mark.django_db


def row(**changes):
    portal = {
        "base_url": "https://portal.example/1001/",
        "rate_per_second": 2.0,
        "burst": 4,
        "max_in_flight": 2,
        "timeout_seconds": 20,
    }
    portal |= changes.pop("portal", {})
    site = {"study": "SLX-301", "site_id": "1001", "name": "St. Brigid's", "country": "Ireland"}
    return site | {"portal": portal} | changes


@pytest.mark.django_db(transaction=True)
def test_the_lines_of_the_log_about_a_site_and_its_portal_name_the_study(load, log):
    load(row())
    load(row(name="St. Mary's"))
    lines = log.read_lines("study.created", "portal.created", "site.created", "site.changed")
    assert len(lines) == 4
    assert {(line["study"], line["site"]) for line in lines} == {("SLX-301", "1001")}


@pytest.fixture
def load(tmp_path, capsys):
    def load(*rows, text=None):
        file = tmp_path / "sites.json"
        file.write_text(text if text is not None else json.dumps(rows))
        call_command("load_sites", str(file))
        return capsys.readouterr().out

    return load


def entries_of_site(number):
    """Return the entries of a site, newest first."""
    return find_entries(EntrySearch(sites=[number]))


def test_study_site_and_portal_are_created_together(load):
    assert load(row()) == "1 sites: created: 1 study, 1 portal, 1 site; changed: none.\n"
    site = Site.objects.get()
    assert (site.study.protocol_number, site.portal.rate_per_second) == ("SLX-301", 2.0)


def test_loading_the_same_file_again_changes_and_records_nothing(load):
    load(row())
    before = len(entries_of_site("1001"))
    assert load(row()) == "1 sites: created: none; changed: none.\n"
    assert len(entries_of_site("1001")) == before


def test_a_changed_rate_is_recorded_with_the_old_one(load):
    load(row())
    load(row(portal={"rate_per_second": 5.0}))
    entry = entries_of_site("1001")[0]
    assert entry.event == "portal.changed"
    assert entry.detail == {"rate_per_second": {"old": "2.0", "new": "5.0"}}


def test_sites_that_share_a_portal_share_its_limits(load):
    load(row(portal={"key": "cro"}), row(site_id="1002", portal={"key": "cro"}))
    assert Portal.objects.count() == 1
    assert Site.objects.count() == 2


def test_a_changed_protocol_version_is_recorded_with_the_old_one(load):
    load(row(protocol_version="2.0"), row(site_id="1002"))
    load(row(), row(site_id="1002", protocol_version="3.0"))
    entry = entries_of_site("1002")[0]
    assert entry.event == "study.changed"
    assert entry.detail == {"protocol_version": {"old": "2.0", "new": "3.0"}}
    load(row())
    assert Site.objects.first().study.protocol_version == "3.0"


def test_two_protocol_versions_of_one_study_are_refused(load):
    with pytest.raises(CommandError, match="SLX-301 has two protocol versions"):
        load(row(protocol_version="2.0"), row(site_id="1002", protocol_version="3.0"))
    assert not Site.objects.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol_version": "final"}, "site 1: protocol_version"),
        ({"portal": {"rate_per_second": 0}}, "site 1: portal.rate_per_second"),
        ({"portal": {"base_url": "ftp://x"}}, "site 1: portal.base_url"),
        ({"colour": "blue"}, "site 1: colour"),
        ({"name": ""}, "site 1: name"),
    ],
)
def test_an_error_names_the_site_and_the_field_and_nothing_is_loaded(load, changes, message):
    with pytest.raises(CommandError, match=message):
        load(row(**changes))
    assert not Site.objects.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "line 1: not JSON"),
        ('[\n{"site_id": "1", "site_id": "2"}]', 'line 2: .* "site_id" is given twice'),
        ("[" + "9" * 5_000 + "]", "more than 300 digits"),
        ("[]", "the list is empty"),
        ("17", "site"),
    ],
    ids=["cut", "twice", "long", "empty", "number"],
)
def test_a_file_that_is_not_a_list_of_sites_is_refused(load, text, message):
    with pytest.raises(CommandError, match=message):
        load(text=text)


def test_a_site_that_is_named_twice_is_refused(load):
    with pytest.raises(CommandError, match="named more than once: 1001"):
        load(row(), row())


def test_a_person_sees_only_the_sites_of_their_memberships():
    mine, other = make_site(), make_site()
    assert list(Site.objects.visible_to(make_user(sites=(mine,)))) == [mine]
    assert set(Site.objects.visible_to(make_staff("Auditors"))) == {mine, other}


def test_staff_without_a_role_see_no_sites():
    make_site()
    assert not Site.objects.visible_to(make_user(is_staff=True))


def test_the_database_refuses_a_portal_with_a_rate_of_zero():
    site = make_site()
    with pytest.raises(IntegrityError), transaction.atomic():
        Portal.objects.filter(pk=site.portal_id).update(rate_per_second=0)


def test_a_person_has_a_name_for_the_ledger_and_a_name_for_pages():
    person = make_user("ana", printed_name="Dr. Ana Müller")
    assert (str(person), person.actor_name) == ("Dr. Ana Müller", f"user:{person.pk}")
    assert User.objects.get().role == "site coordinator"


def test_mirrors_of_a_portal_are_loaded_in_their_order_with_limits_of_their_own(load):
    mirrors = [
        {"base_url": "https://one.example/1001/", "rate_per_second": 5.0},
        {"base_url": "https://two.example/1001/", "key": "cro-copy"},
    ]
    load(row(portal={"mirrors": mirrors}))
    portal = Site.objects.get().portal
    first, second = portal.mirrors.order_by("mirror_order")
    assert (first.key, first.rate_per_second) == (f"{portal.key}-mirror-1", 5.0)
    assert (second.key, second.approved_origin) == ("cro-copy", "https://two.example:443")
    assert load(row(portal={"mirrors": mirrors})) == "1 sites: created: none; changed: none.\n"
    load(row())
    assert portal.mirrors.count() == 2, "a file without mirrors leaves them as they are"
    load(row(portal={"mirrors": mirrors[1:]}))
    assert list(portal.mirrors.all()) == [second]
    last = list_entries(first.subject)[-1]
    assert last.event == "portal.changed"
    assert last.detail["mirror_of"] == {"old": portal.key, "new": "None"}


def test_the_portal_of_a_site_cannot_be_a_mirror(load):
    load(row(portal={"key": "cro"}))
    mirror = {"base_url": "https://one.example/", "key": "cro"}
    with pytest.raises(CommandError, match="mirror cro is the portal of a site"):
        load(row(site_id="1002", portal={"mirrors": [mirror]}))
    assert Site.objects.count() == 1


def test_a_mirror_of_a_mirror_is_refused(load):
    load(row(portal={"mirrors": [{"base_url": "https://one.example/"}]}))
    portal = Site.objects.get().portal
    mirror = portal.mirrors.get()
    for wrong in (
        Portal(key="x", base_url="https://x.example/", mirror_of=mirror),
        Portal(pk=portal.pk, key="y", base_url="https://x.example/", mirror_of=Portal(pk=99)),
    ):
        with pytest.raises(ValidationError, match="mirror"):
            wrong.clean()


def test_further_hosts_and_the_secret_header_of_a_portal_are_loaded(load):
    further = {
        "allowed_hosts": ["Files.example", "deep.example:8443"],
        "secret_header": "X-Api-Key",
    }
    load(row(portal=further))
    portal = Portal.objects.get()
    assert portal.allowed_hosts.split() == ["files.example", "deep.example:8443"]
    assert portal.secret_header == "X-Api-Key"
    portal.allowed_hosts = "files.example\r\ndeep.example:8443\r\n"  # as a form sends it
    portal.full_clean()
    portal.save()
    assert "changed: none" in load(row(portal=further))


@pytest.mark.parametrize(
    ("portal", "message"),
    [
        ({"base_url": "https://me:secret@portal.example/"}, "portal.base_url"),
        ({"secret_header": "Content-Length"}, "portal.secret_header"),
        ({"secret_header": "X: y\r\nX-Z"}, "portal.secret_header"),
        ({"allowed_hosts": ["https://files.example"]}, "portal.allowed_hosts.1"),
        ({"allowed_hosts": "files.example"}, "portal.allowed_hosts"),
    ],
)
def test_a_secret_or_an_invalid_host_in_the_file_is_refused(load, portal, message):
    with pytest.raises(CommandError, match=message):
        load(row(portal=portal))


@pytest.mark.parametrize(
    "hosts", ["https://files.example", "a b/c", "files.example:", "x y:123456"]
)
def test_a_form_accepts_only_host_names_as_allowed_hosts(hosts):
    portal = make_site().portal
    portal.allowed_hosts = hosts
    with pytest.raises(ValidationError, match="Enter one host per line"):
        portal.full_clean()


def test_two_portals_cannot_share_the_name_of_a_secret():
    make_site("a-b")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_site("A_b")


def test_the_day_of_activation_is_loaded_and_kept_if_a_file_does_not_have_it(load):
    load(row(activated_on="2026-10-01"))
    assert str(Site.objects.get().activated_on) == "2026-10-01"
    load(row())
    assert str(Site.objects.get().activated_on) == "2026-10-01"
    load(row(activated_on=None))
    assert Site.objects.get().activated_on is None
    assert entries_of_site("1001")[0].detail == {
        "activated_on": {"old": "2026-10-01", "new": "None"}
    }


def test_the_investigator_of_a_site_is_loaded_and_stays_if_it_is_left_out(load):
    load(row(investigator="Ann Smith", investigator_licence="ME 118845"))
    load(row())
    site = Site.objects.get()
    assert (site.investigator, site.investigator_licence) == ("Ann Smith", "ME 118845")
