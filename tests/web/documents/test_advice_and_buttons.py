"""Each advice on a page has its button, in each state."""

import re
from dataclasses import replace

import pytest
from django.utils import timezone

from ingestion.core.states import DocumentState
from ingestion.models import Action, Document
from ingestion.review import review_requests
from ingestion.rules.codes import CODES, Disposition
from ingestion.rules.finding_texts import format_sentences, list_placeholders
from ingestion.rules.findings import RuleFinding
from ingestion.rules.messages import MESSAGES
from tests.factories import verdict
from tests.ingestion.review.reviewers import decide, lead, sender
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
)
from tests.web.sites.test_required_documents import contradict

UPLOADS = {
    "Upload a corrected file", "Replace the file", "Upload the file here", "Upload a newer version",
}  # fmt: skip
# What a sentence asks for, and the buttons of which one answers it.
ASKS = {
    r"\b(upload|scan|send|attach)\b": UPLOADS,
    r"\b(correct|change) the (type|person|name of the person)": {"Correct type or person"},
    r"\b(ask QA|(ask for|request) a review)": {"Request a review"},
    r"(?<!we )\btry again\b": {"Retry download"},
}
PASSIVE = re.compile(r"^(Do nothing|Wait until the portal is available again)")
BUTTONS = UPLOADS.union(*ASKS.values())
# Of a finding that compares two documents: it stands on the pages of sites and packets.
OF_TWO = {"one", "other", "absent", "lacking"}
STATES = {
    Disposition.REJECT: ("REJECTED", "IN_REVIEW"),
    Disposition.REVIEW: ("IN_REVIEW", "REJECTED"),  # beside one that rejects
    Disposition.HOLD: ("HELD",),
    Disposition.WARN: ("ARCHIVED", "REJECTED", "IN_REVIEW"),
    Disposition.INFO: ("ARCHIVED", "REJECTED", "IN_REVIEW"),
}
FILED_ALL_THE_SAME = ("EXPIRED_DOCUMENT", "STALE_DOCUMENT")  # where a study's own terms say so


def wordings():
    """Yield each code with each form of its advice, by the facts that lead to it.

    The page of a packet offers the same buttons for each form and each state, so the first form is
    tested there, in one state.
    """
    for code, copy in MESSAGES.items():
        for number, wording in enumerate(copy.do, start=1):
            names = list_placeholders(wording) - {"type"}
            marks = [] if number == 1 else pytest.mark.slow
            yield pytest.param(code, names, number == 1, id=f"{code}-{number}", marks=marks)


def asked_for(sentence):
    """Return sets of buttons. The page needs one button of each set for the sentence."""
    return [buttons for ask, buttons in ASKS.items() if re.search(ask, sentence, re.IGNORECASE)]


def offered(client, address):
    page = client.get(address).content.decode()
    main = page[page.index("<main") :]
    labels = re.findall(r"<(?:a|button)[^>]*>([^<]+)<", main)
    return {label.strip() for label in labels} & BUTTONS, " ".join(main.split())


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("code", "names", "on_packet_page"), list(wordings()))
def test_each_advice_has_its_button_in_each_state_that_shows_it(
    signed_in, site, mara, code, names, on_packet_page
):
    facts = dict.fromkeys(names, "X")
    advice = format_sentences(code, facts, type_name="IRB approval").do
    needs = asked_for(advice)
    assert "wait for QA" not in advice, "the page says so where it is so"
    assert needs or PASSIVE.search(advice), f"what is one to do: {advice}"
    if names & OF_TWO or code == "PACKET_INCOMPLETE":
        assert all(UPLOADS is each for each in needs), "a gap is answered by an upload"
        return
    states = STATES[CODES[code].disposition]
    if code == "DOWNLOAD_FAILED":
        states = ("REJECTED",)  # without a file there is nothing that QA could look at
    for state in (*states, "ARCHIVED") if code in FILED_ALL_THE_SAME else states:
        found = RuleFinding(code, facts=facts)
        decided = replace(verdict(state, found), primary=None if state == "ARCHIVED" else found)
        packet = make_packet(site, mara, decided)
        document = packet.documents.get()
        addresses = [f"/documents/{document.pk}/", f"/packets/{packet.reference}/"]
        on_both = on_packet_page and state == states[0]
        for address in addresses if on_both else addresses[:1]:
            buttons, page = offered(signed_in, address)
            assert escaped(advice) in page, (state, advice)
            for need in needs:
                assert need & buttons, f"{state}: {advice} No button on {address} answers it."


def escaped(text):
    return text.replace("'", "&#x27;")


def test_site_and_packet_pages_offer_an_upload_for_a_conflict(signed_in, site):
    form, _ = contradict(site)
    for address in ("/sites/0203/", f"/packets/{form.packet.reference}/"):
        page = signed_in.get(address).content.decode()
        gap = page[page.index("to resolve<") :]
        assert "Upload documents" in gap
        assert 'href="/packets/new/?site=0203"' in gap


def test_a_document_without_a_file_cannot_be_reviewed(signed_in, site, mara):
    failed = verdict("REJECTED", RuleFinding("DOWNLOAD_FAILED", facts={"status": 404}))
    document = make_packet(site, mara, failed).documents.get()
    answer = signed_in.post(f"/documents/{document.pk}/ask/", {"words": "Look again."})
    assert answer.status_code == 409
    assert "QA cannot review this document because it has no file." in answer.content.decode()


@pytest.fixture
def every_state(site, mara, tmp_path):
    """Return a document in each state, by name."""
    sent = sender(site, mara, tmp_path)
    ines = lead("rafael", "Rafael Duarte")
    found = {
        "received": make_packet(site, mara, None).documents.get(),
        "late": make_packet(site, mara, None).documents.get(),
        "rejected": sent(REJECTED, b"%PDF-1.7 1"),
        "asked": sent(REJECTED, b"%PDF-1.7 2"),
        "in_review": sent(IN_REVIEW, b"%PDF-1.7 3"),
        "returned": sent(IN_REVIEW, b"%PDF-1.7 4"),
        "held": make_packet(site, mara, verdict("HELD", RuleFinding("POISON"))).documents.get(),
        "filed": sent(FILED, b"%PDF-1.7 6"),
        "withdrawn": sent(FILED, b"%PDF-1.7 7"),
        "cancelled": make_packet(site, mara, None).documents.get(),
    }
    Document.objects.filter(pk=found["late"].pk).update(failing_since=timezone.now())
    review_requests.request_review(found["asked"], "Look again.", user=mara)
    decide(found["returned"], Action.RETURN, ines)
    decide(found["withdrawn"], Action.WITHDRAW, ines)
    Document.objects.filter(pk=found["cancelled"].pk).update(
        state=DocumentState.CANCELLED, doc_id="letter"
    )
    for number, document in enumerate(found.values()):  # none is a newer version of another
        Document.objects.filter(pk=document.pk).update(doc_id=f"letter-{number}")
    yield found
    Document.objects.filter(pk=found["cancelled"].pk).update(state=DocumentState.RECEIVED)


def test_no_state_shows_advice_that_it_does_not_offer(signed_in, every_state):
    for name, document in every_state.items():
        buttons, page = offered(signed_in, f"/documents/{document.pk}/")
        outcome = page[page.index("outcome-title") : page.index('class="sl-actions"')]
        plain = re.sub(r"<[^>]+>", " ", outcome)
        if name == "asked":  # the site's own words
            plain = plain.split("Review requests from the site")[0]
        for need in asked_for(plain):
            assert need & buttons, f"{name}: {plain}"


ACTIONS = {
    "received": set(),
    "late": {"Upload the file here"},
    "rejected": {"Upload a corrected file", "Correct type or person", "Request a review"},
    "asked": {"Replace the file", "Correct type or person"},
    "in_review": {"Replace the file", "Correct type or person"},
    "returned": {"Upload a corrected file"},
    "held": {"Upload the file here"},
    "filed": set(),
    "withdrawn": set(),
    "cancelled": set(),
}


def test_each_state_offers_exactly_its_own_actions(signed_in, every_state):
    assert ACTIONS.keys() == every_state.keys()
    for name, document in every_state.items():
        buttons, page = offered(signed_in, f"/documents/{document.pk}/")
        assert buttons == ACTIONS[name], name
        for label in buttons:  # and each leads to a page
            (address,) = re.findall(rf'href="([^"]+)"[^>]*>{label}', page)
            assert signed_in.get(address.replace("&amp;", "&")).status_code == 200
