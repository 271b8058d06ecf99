"""No administrator can sign as someone else, whatever they change in the account (R23)."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.electronic_signatures import ACCOUNT_KEY
from audit.ledger.queries import find_entries, list_entries
from audit.outbox import OutboxMessage
from audit.verification import verify as ledger_check
from audit.verification.start import Mode
from ingestion.models import Action
from ingestion.operations import alarms
from ingestion.review import decisions, signature_payload
from sites import account_notices, approvals
from sites.accounts import identity, second_factor
from sites.accounts.identity import Cause
from sites.eligibility import Missing, list_missing_for_signature
from sites.models import User
from sites.models.approval_requests import ApprovalRequest
from tests.factories import make_staff, make_user, put_on_record
from tests.ingestion.mailserver import running
from tests.ingestion.review.reviewers import REASON, decide, reviewer, sender
from tests.web.scenes import IN_REVIEW

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R23")]
WHY = "She asked for it by telephone."
EVIDENCE = "Passport shown in the office in Berlin, seen by me."
NEW = "a dozen wet umbrellas"
PEOPLE = "/admin/clinical_sites/user/"


@pytest.fixture(autouse=True)
def _mail(settings):
    settings.SITE_URL = "https://ledger.example.org"


@pytest.fixture
def ada():
    return make_user("ada", is_staff=True, is_superuser=True, printed_name="Ada Hartmann")


@pytest.fixture
def noor():
    return make_user("noor", is_staff=True, is_superuser=True, printed_name="Noor Haddad")


@pytest.fixture
def helena():
    person = reviewer("helena", "Helena Vogt")
    person.email = "helena@qa.example.org"
    person.save()
    return person


def as_(person, **session):
    client = Client()
    client.force_login(person, "sites.backends.People")
    return client


def fresh(person):
    return User.objects.get(pk=person.pk)


def form_of(person, **changes):
    fields = {"printed_name": person.printed_name, "email": person.email, "is_active": "on"}
    fields |= {"is_staff": "on"} if person.is_staff else {}
    fields |= {"is_superuser": "on"} if person.is_superuser else {}
    fields["groups"] = [group.pk for group in person.groups.all()]
    inline = {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    return fields | inline | {"reason_for_change": WHY} | changes


def change(by, person, **changes):
    return as_(by).post(f"{PEOPLE}{person.pk}/change/", form_of(person, **changes))


def act(by, action, *people):
    form = {"action": action, "_selected_action": [person.pk for person in people], "index": 0}
    return as_(by).post(PEOPLE, form | {"reason_for_change": WHY})


def mailed(address):
    """Send all waiting email, and return the messages to this address."""
    account_notices.send_due_notices()
    return [message for message in mail.outbox if message.to == [address]]


def link_in(message):
    return re.search(r"https://ledger\.example\.org(/password/link/\S+)", message.body)[1]


def choose(link, password=NEW):
    """Choose a password with the link, and return the last response."""
    client = Client()
    page = client.get(link, follow=True)
    if page.status_code != 200:
        return page
    given = {"new_password1": password, "new_password2": password}
    return client.post(page.redirect_chain[-1][0], given)


def verify(by, person, **given):
    request = ApprovalRequest.objects.open().about("identity", person.actor_name).first()
    given = {"act": "approve", "note": EVIDENCE, "password": "correct horse"} | given
    return as_(by).post(f"/approvals/{request.pk}/", given)


def sign(person, document, password):
    """Decide about a document in the person's session, as the page does."""
    given = {"username": person.username, "password": password, "reason": REASON, "note": ""}
    given["made_on"] = decisions.get_version(document)
    return as_(fresh(person)).post(f"/admin/review/{document.pk}/sign/?action=release", given)


@pytest.fixture
def document(site, mara, tmp_path):
    return sender(site, mara, tmp_path)(IN_REVIEW)


@pytest.mark.requirement("R19")
def test_no_page_lets_a_person_enter_the_password_of_another_one(ada, helena):
    client = as_(ada)
    assert client.get(f"{PEOPLE}{helena.pk}/password/").status_code in {302, 404}
    typed = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    client.post(f"{PEOPLE}{helena.pk}/password/", typed | {"reason_for_change": WHY})
    change(ada, helena, **typed, password=NEW)
    assert fresh(helena).check_password("correct horse")
    page = client.get(f"{PEOPLE}add/").content.decode()
    assert 'type="password"' not in page
    with pytest.raises(CommandError, match="account_link helena"):
        call_command("changepassword", "helena")


@pytest.mark.requirement("R19")
def test_a_new_account_gets_its_password_with_a_link_that_works_once(ada):
    form = {"username": "otto", "printed_name": "Otto Brandt", "email": "otto@site.example.org",
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0,
            "password1": NEW, "password2": NEW}  # fmt: skip
    assert as_(ada).post(f"{PEOPLE}add/", form).status_code == 302
    person = User.objects.get(username="otto")
    assert not person.has_usable_password()
    (message,) = mailed("otto@site.example.org")
    assert choose(link_in(message)).status_code == 302
    assert fresh(person).check_password(NEW)
    assert not fresh(person).must_change_password()
    second = choose(link_in(message), "another dozen wet umbrellas")
    assert (second.status_code, fresh(person).check_password(NEW)) == (410, True)
    assert list_entries(person.actor_name)[-1].actor == person.actor_name, (
        "they chose it themselves"
    )
    assert Missing.SUSPENDED in list_missing_for_signature(fresh(person)), (
        "no second administrator has seen them"
    )


def test_a_link_expires_and_is_invalidated_by_a_new_link_or_address(
    ada, helena, settings, monkeypatch
):
    act(ada, "send_link", helena)
    first = link_in(mailed(helena.email)[-1])
    act(ada, "send_link", helena)
    second = link_in(mailed(helena.email)[-1])
    assert choose(first).status_code == 410
    person = fresh(helena)
    person.email = "other@example.org"
    person.save()
    assert choose(second).status_code == 410
    settings.PASSWORD_RESET_TIMEOUT = -1
    act(ada, "send_link", helena)
    assert choose(link_in(mailed("other@example.org")[-1])).status_code == 410


def test_a_link_does_not_work_for_an_inactive_account(ada, helena):
    act(ada, "send_link", helena)
    link = link_in(mailed(helena.email)[-1])
    person = fresh(helena)
    person.is_active = False
    person.save()
    assert choose(link).status_code == 410


def test_a_person_who_takes_over_an_account_by_its_address_cannot_sign(ada, helena, document):
    """An administrator changes the email address to their own and requests a password link."""
    change(ada, helena, email="ada+helena@example.org")
    act(ada, "send_link", helena)
    (notice,) = mailed("helena@qa.example.org")
    assert "Email address changed by Ada Hartmann" in notice.body
    link = next(link_in(each) for each in mailed("ada+helena@example.org") if "link" in each.body)
    choose(link)
    assert fresh(helena).check_password(NEW), "the account itself is taken over"
    assert Missing.SUSPENDED in list_missing_for_signature(fresh(helena))
    assert sign(helena, document, NEW).status_code == 403
    document.refresh_from_db()
    assert document.state == "IN_REVIEW"
    assert not document.qa_decisions.exists()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("cause", "deed"),
    [
        (Cause.PASSWORD, lambda ada, helena: act(ada, "send_link", helena)),
        (Cause.SECOND_FACTOR, lambda ada, helena: act(ada, "reset_second_factor", helena)),
        (Cause.EMAIL, lambda ada, helena: change(ada, helena, email="new@qa.example.org")),
        (Cause.NAME, lambda ada, helena: change(ada, helena, printed_name="Rafael Duarte")),
    ],
    ids=lambda each: str(each) if isinstance(each, Cause) else "",
)
def test_changes_by_an_administrator_suspend_signing_until_another_one_verifies(
    ada, noor, helena, document, cause, deed
):
    device = TOTPDevice.objects.create(user=helena, name=second_factor.APP)
    helena.second_factor_since = device.created_at
    helena.save()
    deed(ada, helena)
    person = fresh(helena)
    assert list_missing_for_signature(person) == [Missing.SUSPENDED]
    assert mailed("helena@qa.example.org"), "told at the address that was theirs"
    request = ApprovalRequest.objects.open().get(about=helena.actor_name)
    assert (request.cause, request.asked_by, request.reason) == (cause, ada, WHY)
    assert verify(ada, person).status_code == 302
    assert fresh(helena).signing_suspended_at, "not by who changed it"
    User.objects.filter(pk=person.pk).update(second_factor_since=None)  # sign in without it
    verify(noor, person)
    person = fresh(helena)
    assert list_missing_for_signature(person) == []
    assert person.identity_evidence == EVIDENCE
    assert sign(helena, document, "correct horse").status_code == 302
    decision = document.qa_decisions.get()
    noted = signature_payload.find_entry(decision).detail[ACCOUNT_KEY]
    assert noted.startswith(f"{cause.label} by Ada Hartmann")
    assert "identity verified again by Noor Haddad" in noted
    page = as_(fresh(helena)).get(f"/documents/{document.pk}/").content.decode()
    assert cause.label in page
    assert signature_payload.find_changes(decision) == [], "and the signature holds"


def test_a_verification_records_who_requested_it_and_what_was_seen(ada, noor, helena):
    act(ada, "send_link", helena)
    verify(noor, helena)
    entry = list_entries(helena.actor_name)[-1]
    assert (entry.event, entry.actor) == ("user.changed", noor.actor_name)
    assert entry.detail["changes"]["identity_evidence"]["new"] == EVIDENCE
    assert (entry.detail["asked_by"], entry.detail["reason"]) == ("Ada Hartmann", WHY)
    events = [each.event for each in list_entries(entry.detail["approval"])]
    assert events == ["approval.requested", "approval.approved"]


def test_people_cannot_verify_their_own_identity(ada, noor):
    act(ada, "send_link", noor)
    assert "another person changed" in approvals.explain_approval_refusal(
        _request(noor), fresh(noor)
    )
    verify(noor, noor)
    assert fresh(noor).signing_suspended_at


def _request(person):
    return ApprovalRequest.objects.about("identity", person.actor_name).first()


def test_an_administrator_cannot_use_a_created_administrator_to_verify(ada, helena):
    """Ada creates an administrator with her own email address, and signs in with it."""
    form = {"username": "puppet", "printed_name": "Pia Pett", "email": "ada+pia@example.org",
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}  # fmt: skip
    as_(ada).post(f"{PEOPLE}add/", form)
    puppet = User.objects.get(username="puppet")
    choose(link_in(mailed("ada+pia@example.org")[0]))
    change(ada, puppet, is_staff="on", is_superuser="on")
    assert fresh(puppet).is_superuser
    act(ada, "send_link", helena)
    assert verify(fresh(puppet), helena, password=NEW).status_code == 302
    assert verify(ada, puppet).status_code == 302, "told no on the page"
    assert fresh(helena).signing_suspended_at
    assert fresh(puppet).signing_suspended_at


def test_an_existing_account_that_becomes_administrator_cannot_verify_at_once(ada, helena):
    rafael = make_staff("Regulatory affairs", "rafael")
    change(ada, rafael, is_superuser="on")
    act(ada, "send_link", helena)
    verify(fresh(rafael), helena)
    assert fresh(helena).signing_suspended_at


def test_a_person_with_a_refused_identity_cannot_request_verification_again(ada, noor, helena):
    """Ada takes over an account, Noor refuses the request, and then Ada asks as "Helena"."""
    act(ada, "send_link", helena)
    request = _request(helena)
    given = {"act": "refuse", "note": "She does not know of it.", "password": "correct horse"}
    as_(noor).post(f"/approvals/{request.pk}/", given)
    as_(fresh(helena)).post("/account/identity/")
    asked = _request(helena)
    assert (asked.pk != request.pk, asked.asked_by) == (True, helena)
    assert "You changed how this person signs in" in approvals.explain_approval_refusal(asked, ada)
    verify(ada, helena)
    assert fresh(helena).signing_suspended_at
    verify(noor, helena)
    assert not fresh(helena).signing_suspended_at


def test_two_administrators_who_changed_an_account_cannot_verify_it(ada, noor, helena):
    act(ada, "send_link", helena)
    change(noor, helena, email="h@example.org")
    for person in (ada, noor):
        verify(person, helena)
    assert fresh(helena).signing_suspended_at
    third = make_user("kim", is_staff=True, is_superuser=True)
    verify(third, helena)
    assert not fresh(helena).signing_suspended_at
    assert not ApprovalRequest.objects.open().exists(), "both are closed by it"


def test_an_approval_requires_the_password(ada, noor, helena):
    act(ada, "send_link", helena)
    assert verify(noor, helena, password="wrong").status_code == 400
    assert verify(noor, helena, note="ok").status_code == 400
    assert fresh(helena).signing_suspended_at


def test_an_administrator_with_a_qa_role_cannot_make_qa_decisions(ada, document):
    refused = change(ada, ada, groups=[Group.objects.get(name="QA leads").pk])
    assert refused.status_code == 200
    assert "cannot have a QA role" in refused.content.decode()
    came_back = find_entries(limit=1)[0]
    assert (came_back.event, came_back.reason_code) == (
        "user.form_came_back",
        "groups:role_conflict",
    )
    ada.groups.add(Group.objects.get(name="QA leads"))  # by whatever other way
    client = as_(ada)
    assert client.get("/admin/review/").status_code == 403
    assert client.get(f"/admin/review/{document.pk}/").status_code == 403
    assert sign(ada, document, "correct horse").status_code == 403
    assert client.get("/admin/ingestion/waiver/add/").status_code == 403
    assert client.get("/admin/audit/reviews/new/").status_code == 403
    with pytest.raises(decisions.DecisionRefused):
        decide(document, Action.RELEASE, fresh(ada))
    page = client.get("/access/").content.decode()
    assert "Administrator with a QA role" in page


def test_a_link_is_printed_if_no_email_is_sent_and_this_is_recorded(
    settings, helena, noor, capsys, monkeypatch
):
    settings.SITE_URL = ""
    call_command("account_link", "helena")
    link = capsys.readouterr().out.strip()
    assert list_missing_for_signature(fresh(helena)) == [Missing.SUSPENDED]
    entry = list_entries(helena.actor_name)[-1]
    assert entry.event == "user.changed"
    assert set(entry.detail["changes"]) == {"link_issued_at", "signing_suspended_at"}
    assert choose(link).status_code == 302
    assert fresh(helena).check_password(NEW)
    verify(noor, helena)
    assert list_missing_for_signature(fresh(helena)) == []
    assert "system:" in identity.describe_last_identity_change(helena)
    with pytest.raises(CommandError, match="no user 'nobody'"):
        call_command("account_link", "nobody")


def test_without_email_the_page_tells_how_to_get_the_link(settings, ada, helena):
    settings.SITE_URL = ""
    answer = act(ada, "send_link", helena)
    text = " ".join(str(each) for each in answer.wsgi_request._messages)
    assert "manage.py account_link helena" in text
    assert fresh(helena).signing_suspended_at


def test_a_notice_waits_for_the_mail_server_and_is_recorded_when_it_is_sent(settings, ada, helena):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with running() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        server.is_busy = True
        act(ada, "send_link", helena)
        assert account_notices.send_due_notices() == 0
        rows = str(list(OutboxMessage.objects.values()))
        assert "/password/link/" not in rows, "a copy of the database lets no one in"
        assert "account_mail" in {alarm.key for alarm in alarms.find_alarms().alarms}
        server.is_busy = False
        OutboxMessage.objects.update(due_at=timezone.now())
        assert account_notices.send_due_notices() == 2, "what was changed, and the link"
        assert account_notices.send_due_notices() == 0
        assert {message["To"] for message in server.messages} == {helena.email}
    assert [entry.event for entry in list_entries(helena.actor_name)][-2:] == ["user.notified"] * 2


def test_old_notices_expire(ada, helena):
    act(ada, "send_link", helena)
    message = OutboxMessage.objects.filter(kind="account_notice").first()
    assert message.expires_at - message.created_at == timedelta(days=3)
    OutboxMessage.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert account_notices.send_due_notices() == 0


def test_people_request_their_own_first_verification(ada, noor, mara):
    mara.identity_verified_at = None
    mara.save()
    client = as_(mara)
    assert "Request verification" in client.get("/account/").content.decode()
    client.post("/account/identity/")
    client.post("/account/identity/")
    assert ApprovalRequest.objects.count() == 1
    verify(ada, mara)
    assert list_missing_for_signature(fresh(mara)) == []
    assert identity.describe_last_identity_change(mara) == "", "no one changed the account"


def test_the_access_review_shows_who_verified_and_who_created_the_verifier(ada, noor, helena):
    """Two accounts created by one person can verify a third: the access review shows it."""
    act(ada, "reset_second_factor", noor)
    change(ada, noor, email="noor@example.org")
    kim = make_user("kim", is_staff=True, is_superuser=True)
    verify(kim, noor)
    act(ada, "send_link", helena)
    page = as_(ada).get("/access/").content.decode()
    assert "Signing is suspended: Link for a new password issued." in page
    verify(fresh(noor), helena)
    page = as_(ada).get("/access/").content.decode()
    assert "Ada Hartmann requested the verification of this identity, and had created" in page
    assert "Identity verified by Noor Haddad, requested by Ada Hartmann" in page
    table = as_(ada).get("/access/people.csv").content.decode()
    assert "Check that both people exist." in table


@pytest.mark.usefixtures("every_row")
def test_a_suspension_that_sql_lifted_is_found_by_the_comparison_with_the_ledger(
    ada, noor, helena, capsys
):
    put_on_record()
    change(ada, helena, email="h@example.org", printed_name="Helena V.")
    act(ada, "send_link", helena)
    choose(link_in(mailed("h@example.org")[-1]))
    call_command("account_link", "helena")
    form = {"username": "otto", "printed_name": "Otto Brandt", "email": "otto@example.org",
            "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}  # fmt: skip
    as_(ada).post(f"{PEOPLE}add/", form)
    verify(noor, helena)
    act(noor, "send_link", helena)
    assert ledger_check.verify_ledger(Mode.FULL).problems == ()
    suspended_at = fresh(helena).signing_suspended_at
    User.objects.filter(pk=helena.pk).update(signing_suspended_at=None)
    (problem,) = ledger_check.verify_ledger(Mode.FULL).problems
    assert "signing_suspended_at" in str(problem)
    User.objects.filter(pk=helena.pk).update(signing_suspended_at=suspended_at)
