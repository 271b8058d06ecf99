"""The audit trail of everything, of a site, of a packet and of a document."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.ledger import queries
from audit.ledger.actors import Actor, add_process
from audit.ledger.log import ledger, record
from tests.factories import make_site, make_user
from tests.web.scenes import FILED, REJECTED, make_packet
from tests.web.trail.conftest import text

SEERS = ["QA reviewers", "Regulatory affairs", ""]


@pytest.fixture
def addresses(packet):
    document = packet.documents.first()
    return [
        "/admin/audit/",
        f"/admin/audit/document/{document.pk}/",
        f"/admin/audit/packet/{packet.reference}/",
        "/admin/audit/site/0203/",
    ]


@pytest.mark.parametrize("role", SEERS, ids=["qa", "affairs", "admin"])
def test_people_with_access_can_see_all_pages_of_the_trail(as_role, addresses, role):
    client = as_role(role)
    for address in addresses:
        assert client.get(address).status_code == 200


@pytest.mark.requirement("R15")
def test_other_roles_are_refused_and_strangers_are_redirected_to_sign_in(
    client, as_role, mara, addresses
):
    for address in addresses:
        assert client.get(address).url == f"/login/?next={address}"
    as_role("Operations")
    for address in addresses:
        assert client.get(address).status_code == 403
    client.force_login(mara)
    for address in addresses:
        assert client.get(address).status_code == 403


def test_pages_of_the_trail_accept_only_reading(affairs, addresses):
    for address in addresses:
        assert affairs.post(address).status_code == 405
        assert "no-store" in affairs.get(address).headers["Cache-Control"]


@pytest.mark.requirement("R11")
def test_the_trail_of_a_document_shows_what_happened_who_when_and_why(affairs, packet):
    document = packet.documents.get(state="REJECTED")
    page = affairs.get(f"/admin/audit/document/{document.pk}/")
    content = text(page)
    assert "Received" in content
    assert "Received → Checking" in content
    assert "Checking → Rejected" in content
    assert "Page 2 is not signed" in content
    assert "SIGNATURE_MISSING" in content
    assert "Mara Lindqvist" in content
    for entry in queries.list_entries(document.subject):
        assert entry.hash in content
        assert f"{entry.recorded_at:%H:%M:%S}." in content
    assert "&quot;code&quot;: &quot;SIGNATURE_MISSING&quot;" in page.content.decode()


@pytest.mark.requirement("R10")
def test_every_time_is_marked_as_utc_on_pages_of_the_trail_and_in_the_admin(
    affairs, addresses, packet
):
    document = packet.documents.first()
    trail = [affairs.get(address).content.decode() for address in addresses]
    times = [time for page in trail for time in re.findall(r"<time[^>]*>([^<]*)<", page)]
    assert times
    assert {time[-4:] for time in times} == {" UTC"}
    record = text(affairs.get(f"/admin/ingestion/document/{document.pk}/change/"))
    assert re.search(r"Received at: \d+ \w+ \d{4}, \d\d:\d\d UTC", record)


def test_the_trail_of_a_document_contains_all_of_its_versions(affairs, site, mara):
    first = make_packet(site, mara, REJECTED).documents.get()
    second = make_packet(site, mara, FILED).documents.get()
    assert first.doc_id == second.doc_id
    content = text(affairs.get(f"/admin/audit/document/{first.pk}/"))
    assert "Checking → Rejected" in content
    assert "Checking → Filed" in content


def test_several_versions_are_numbered_and_a_single_one_is_not(affairs, site, mara):
    make_packet(site, mara, REJECTED, kinds=("irb-approval",))
    second = make_packet(site, mara, FILED, kinds=("irb-approval",)).documents.get()
    only = make_packet(site, mara, FILED, kinds=("delegation-log",)).documents.get()
    content = text(affairs.get(f"/admin/audit/document/{second.pk}/"))
    assert [content.count(f"Version {number}") for number in (1, 2, 3)] == [3, 3, 0]
    assert (
        "Version"
        not in text(affairs.get(f"/admin/audit/document/{only.pk}/")).partition("Entry")[0]
    )


def test_the_trail_of_a_packet_contains_its_documents_and_its_batch_only(
    affairs, packet, site, mara
):
    other = make_packet(site, mara, FILED, kinds=("form-fda-1572",))
    lines = affairs.get(f"/admin/audit/packet/{packet.reference}/").context["lines"]
    subjects = {line.subject for line in lines}
    assert {document.subject for document in packet.documents.all()} < subjects
    assert packet.batch.subject in subjects
    assert other.documents.get().subject not in subjects


def test_a_person_has_the_name_of_the_time_of_the_entry(affairs, db):
    with ledger():
        detail = {"printed_name": "Ana <Old> Name", "reason": "She asked for it."}
        record("site.changed", subject="site:1", n=1, by=Actor("user:77"), detail=detail)
    answer = affairs.get("/admin/audit/")
    assert answer.context["lines"][0].person == "Ana <Old> Name"
    page = answer.content.decode()
    assert "Ana &lt;Old&gt; Name" in page
    assert "She asked for it." in page
    assert "Site changed" in page


@pytest.mark.requirement("R40")
def test_the_trail_shows_the_product_name_and_the_complete_process(affairs, packet):
    with ledger():
        record("site.changed", subject="site:1", n=1, by=Actor("system:load_sites"))
    answer = affairs.get("/admin/audit/")
    assert {"SiteLedger", "system:load_sites"} <= {line.person for line in answer.context["lines"]}
    for actor in ("system:worker", "system:load_sites"):
        assert f"Actor {add_process(actor)} " in text(answer)


def test_the_trail_of_a_site_is_paged_from_the_newest_entry(affairs, site):
    with ledger():
        for n in range(60):
            record("site.changed", subject="site:1", n=n, by=Actor("system:tests"), site="0203")
    first = affairs.get("/admin/audit/site/0203/")
    seqs = [line.seq for line in first.context["lines"]]
    assert seqs == list(range(60, 10, -1))
    rest = affairs.get(f"/admin/audit/site/0203/?{first.context['older_query']}")
    assert [line.seq for line in rest.context["lines"]] == list(range(10, 0, -1))
    assert not rest.context["older_query"]


def test_an_unknown_position_in_the_trail_is_harmless(affairs, packet):
    for before in ("0", "-1", "x", "9" * 30):
        assert affairs.get(f"/admin/audit/?before={before}").status_code == 200


@pytest.mark.requirement("R11")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("site=0203", {1, 2}),
        ("site=0204", {3}),
        ("person=mara", {2}),
        ("event=document.filed", {3}),
        ("doc_id=cv", {1}),
        ("since=2020-01-01&until=2020-12-31", set()),
        ("since=2020-01-01", {1, 2, 3}),
        ("site=0203&person=mara", {2}),
        ("", {1, 2, 3}),
    ],
)
def test_a_search_finds_the_entries_that_match_all_fields(affairs, mara, query, found):
    make_site("0204")
    facts = {"subject": "document:1", "by": Actor("system:worker"), "site": "0203"}
    with ledger():
        record("document.received", n=1, **facts | {"doc_id": "cv"})
        record("document.received", n=2, **facts | {"by": mara.actor})
        record("document.filed", n=3, **facts | {"site": "0204"})
    answer = affairs.get(f"/admin/audit/?{query}")
    assert {line.seq for line in answer.context["lines"]} == found
    assert ("No entries match" in text(answer)) == (not found)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("site=9", "Site 9 does not exist"),
        ("person=nobody", "No account has the user name nobody"),
        ("since=2026-02-01&until=2026-01-01", "The end date is before the start date"),
        ("since=soon", "Enter a valid date"),
    ],
)
def test_an_invalid_search_is_explained(affairs, query, message):
    content = text(affairs.get(f"/admin/audit/?{query}"))
    assert message in content
    assert "Clear the search" in content


def test_an_empty_trail_is_explained(affairs):
    assert "The audit trail has no entries yet" in text(affairs.get("/admin/audit/"))


def test_records_that_do_not_exist_are_not_found(affairs, site):
    for address in ("document/77", "packet/PKT-1999-0001", "site/none"):
        assert affairs.get(f"/admin/audit/{address}/").status_code == 404
    assert "The audit trail has no entries for this site" in text(
        affairs.get("/admin/audit/site/0203/")
    )


def test_the_number_of_queries_does_not_grow_with_entries_and_people(affairs, packet, site):
    document = packet.documents.first()
    addresses = [
        "/admin/audit/",
        f"/admin/audit/document/{document.pk}/",
        "/admin/audit/site/0203/",
    ]

    def count_queries():
        with CaptureQueriesContext(connection) as captured:
            for address in addresses:
                affairs.get(address)
        return len(captured)

    few = count_queries()
    for _ in range(5):
        make_packet(site, make_user(sites=(site,)), FILED, REJECTED)
    assert count_queries() == few


def test_pages_of_records_link_to_their_trail_for_people_with_access(client, affairs, mara, packet):
    document = packet.documents.first()
    links = {
        f"/documents/{document.pk}/": f"/admin/audit/document/{document.pk}/",
        f"/packets/{packet.reference}/": f"/admin/audit/packet/{packet.reference}/",
        "/sites/0203/": "/admin/audit/site/0203/",
    }
    for page, link in links.items():
        assert f'href="{link}"' in affairs.get(page).content.decode()
    client.force_login(mara)
    for page in links:
        assert "/admin/audit/" not in client.get(page).content.decode()


def test_the_list_of_entries_in_the_admin_keeps_its_address(affairs, packet):
    assert affairs.get("/admin/audit/entry/").status_code == 200
    assert affairs.get("/admin/audit/entry/1/change/").status_code == 200
