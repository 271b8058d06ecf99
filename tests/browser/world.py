"""One object of every kind that pages show: people, packets, decisions, jobs, rows."""

import dataclasses
import uuid
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import Group
from django.db.models import Model
from django.test import Client
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_q.brokers import get_broker
from django_q.models import OrmQ, Schedule, Task

from audit import job_runs
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from audit.signing import key_rotation
from ingestion import roles
from ingestion.models import (
    Action,
    Chunk,
    Document,
    RequiredDocument,
    SiteRequirement,
    ValidityOverride,
    Waiver,
    WorkerHost,
)
from ingestion.reading.results import Box
from ingestion.review.review_requests import request_review
from ingestion.rules.checks.signatures import DocumentSignature, SignatureState
from ingestion.rules.findings import RuleFinding
from ingestion.storage.archive import get_archive
from sites import password_links, portal_approval
from sites.models import ApiToken, FhirClient, Study, User
from sites.models.legal_holds import LegalHold
from tests.browser.actions import make_renditions
from tests.factories import make_batch, make_leased, make_read, make_site, make_user
from tests.ingestion.learning.stored_models import make_model
from tests.ingestion.reading.documents import add_script, make_pdf
from tests.ingestion.review.reviewers import decide
from tests.web.operations.conftest import hold
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
    pdf,
)

WHY = "Asked for by the inspector of 12 May."
UNSIGNED = dataclasses.replace(
    REJECTED, signature=DocumentSignature(SignatureState.EMPTY, 2, Box(60.0, 530.0, 332.0, 620.0))
)
SCRIPTED = RuleFinding("ACTIVE_CONTENT", facts={"kinds": "javascript"})
LOCKED = dataclasses.replace(IN_REVIEW, findings=(SCRIPTED,), primary=SCRIPTED)
STAFF = {
    "ines": "QA leads",
    "rafael": "Regulatory affairs",
    "olu": "Operations",
    "vera": "Auditors",
}


def people() -> dict[str, User]:
    """Return one person of each role, and coordinators with something missing."""
    roles.install()  # a transactional test begins with empty tables
    site, empty = make_site("0203"), make_site("0999")
    found = {
        "mara": make_user("mara", sites=(site,), printed_name="Mara Lindqvist"),
        "otto": make_user("otto", sites=(empty,), printed_name="Otto Brandt"),
        "nora": make_user("nora", printed_name="Nora Falk"),  # of no site yet
        "new": make_user(
            "new",
            sites=(empty,),
            training_acknowledged_at=None,
            policy_acknowledged_at=None,
            identity_verified_at=None,
        ),
        "lena": make_user("lena", sites=(empty,), printed_name="Lena Ruiz"),  # with a code
        "ada": make_user("ada", is_staff=True, is_superuser=True, printed_name="Ada Hartmann"),
    }
    today = datetime.now(UTC).date()
    for name, group in STAFF.items():
        days = {"access_from": today, "access_until": today + timedelta(days=5)}
        columns = {"printed_name": name.title(), "is_staff": True}
        found[name] = make_user(name, **columns, **(days if group == "Auditors" else {}))
        found[name].groups.set(Group.objects.filter(name=group))
    device = TOTPDevice.objects.create(user=found["lena"], confirmed=True)
    assert device.pk
    User.objects.filter(pk=found["lena"].pk).update(second_factor_since=timezone.now())
    return found


class World:
    """The parts of addresses: `World(...).names["rejected"]` is a primary key or a reference."""

    def __init__(self, found: dict[str, User], folder) -> None:
        self.people, self._folder = found, folder
        self.site = found["mara"].memberships.get().site
        self.names: dict[str, object] = {"site": self.site.site_id, "mara": found["mara"].pk}
        self._documents()
        self._decisions()
        self._work()
        self._laid_down()
        self._asked_for()

    def client(self, who: str) -> Client:
        client = Client()
        client.force_login(self.people[who])
        return client

    def _packet(self, name: str, *verdicts, content: bytes = b"") -> Document:
        content = content or make_pdf(pages=2) + uuid.uuid4().bytes
        packet = make_packet(self.site, self.people["mara"], *verdicts, content=content)
        document = packet.documents.order_by("pk").first()
        if document.sha256:
            (self._folder / "incoming").write_bytes(content)
            get_archive().put(self._folder / "incoming", document.sha256)
        self.names |= {name: document.pk, f"{name}_packet": packet.reference}
        return document

    def _documents(self) -> None:
        filed = self._packet("filed", FILED)
        self._packet("waiting", None, None)
        rejected = self._packet("rejected", UNSIGNED, FILED)
        # None of the others is a newer version of it: it can be corrected.
        Document.objects.filter(pk=rejected.pk).update(doc_id="irb-letter")
        asked = self._packet("asked", UNSIGNED)
        request_review(asked, "It is signed, on the back of page 2.", user=self.people["mara"])
        self._packet("in_review", IN_REVIEW)
        self._packet("locked", LOCKED, content=add_script(make_pdf(pages=2)))
        make_renditions()
        self._packet("next_in_review", IN_REVIEW)
        self._packet("not_drawn", IN_REVIEW, content=b"%PDF-1.7 a letter")
        self._packet(
            "not_given", dataclasses.replace(REJECTED, findings=(NOT_GIVEN,), primary=NOT_GIVEN)
        )
        day = datetime.now(UTC).date()
        make_read(
            self.site,
            "gcp-certificate",
            doc_id="gcp-certificate.ana-ruiz",
            completion_date=day.isoformat(),
        )
        make_read(self.site, "cv", RuleFinding("SIGNATURE_MISSING"), state="REJECTED")
        wrong = RuleFinding("PERSON_MISMATCH", 1, {"named": "Jo Brandt", "expected": "Ana Ruiz"})
        another = make_read(
            self.site,
            "cv",
            wrong,
            doc_id="cv.ana-ruiz",
            state="IN_REVIEW",
            person="Jo Brandt",
        )
        Document.objects.filter(pk=another.pk).update(url="", spooled="it")  # a person declared it
        self.names["another_person"] = another.pk
        Document.objects.filter(pk=filed.pk).update(doc_id="irb-approval")

    def _decisions(self) -> None:
        ines = self.people["ines"]
        for name, action, verdict in (
            ("returned", Action.RETURN, IN_REVIEW),
            ("released", Action.RELEASE, IN_REVIEW),
            ("withdrawn", Action.WITHDRAW, FILED),
        ):
            decide(self._packet(name, verdict), action, ines)
        corrected = self._packet("corrected", UNSIGNED)
        form = {"token": "t-9", "file-0": pdf("signed.pdf"), "type-0": "irb-approval"}
        assert (
            self.client("mara").post(f"/documents/{corrected.pk}/correct/", form).status_code == 302
        )
        self.client("mara").post(
            f"/documents/{self.names['filed']}/copies/",
            {"reason": WHY, "username": "mara", "password": "correct horse"},
        )

    def _work(self) -> None:
        WorkerHost.objects.create(name="h", host="worker-01", workers=2, software="1")
        held = hold(self.site, 2)
        self.names["held"] = held[0].pk
        chunk, _lease = make_leased(1, self.site)
        Chunk.objects.filter(pk=chunk.pk).update(
            lease_expires_at=timezone.now() - timedelta(hours=2)
        )
        overdue = make_batch(self.site)
        overdue.documents.update(failing_since=timezone.now() - timedelta(days=3))
        now = timezone.now()
        for success, result in ((True, ""), (False, "OSError: no room")):
            times = {"started": now, "stopped": now, "success": success, "result": result}
            Task.objects.create(
                id=uuid.uuid4().hex, name="expiries", func="ingestion.note", **times
            )
        get_broker().enqueue("a ring")
        assert OrmQ.objects.exists()
        assert Schedule.objects.exists()

    def _laid_down(self) -> None:
        study, ada = self.site.study, self.people["ada"]
        RequiredDocument.objects.create(study=study, document_type="irb-approval")
        RequiredDocument.objects.create(study=study, document_type="cv", each="investigator")
        SiteRequirement.objects.create(site=self.site, document_type="cv", reason=WHY)
        ValidityOverride.objects.create(
            study=study, document_type="cv", max_age_months=12, reason=WHY
        )
        Waiver.objects.create(site=self.site, document_type="cv", reason=WHY, granted_by=ada)
        ended = Study.objects.create(protocol_number="SLX-900", ended_on="2026-01-31")
        LegalHold.objects.create(study=ended, reason=WHY, set_by=ada)
        FhirClient.objects.create(
            client_id="warehouse",
            name="Warehouse of the sponsor",
            public_keys={"keys": [{"kty": "EC", "crv": "P-384", "x": "x", "y": "y"}]},
            resource_types=["AuditEvent"],
        )
        token = ApiToken(
            approved_at=timezone.now(),
            name="eTMF of the sponsor",
            site=self.site,
            created_by=ada,
            scopes=["read"],
        )
        token.generate_secret()
        token.save()
        otto = self.people["otto"]
        otto.link_issued_at = timezone.now()
        otto.save()
        self.names["link"] = password_links.make_link_path(otto)
        wanted = {"base_url": "https://new.example.org/", "allow_http": False}
        with ledger():
            asked = portal_approval.request_change(self.site.portal, wanted, by=ada, reason=WHY)
        self.names["request"] = asked.pk

    def _asked_for(self) -> None:
        """Request a verification, an export and two reviews on pages, and run them as a worker."""
        key_rotation.create_key(by=Actor.software("tests", "operations"))
        rafael = self.client("rafael")
        self.names["check"] = _key(rafael.post("/admin/audit/verify/now/"))
        self.names["export"] = _key(rafael.post("/admin/audit/export/check/?site=0203"))
        while job_runs.run_next_job():
            pass
        self.names["check_waits"] = _key(rafael.post("/admin/audit/verify/now/"))
        waiting = f"/admin/audit/export/check/?packet={self.names['filed_packet']}"
        self.names["export_waits"] = _key(rafael.post(waiting))
        signed = {"findings": WHY, "username": "rafael", "password": "correct horse"}
        today = datetime.now(UTC).date().isoformat()
        form = {"since": today, "until": today, "outcome": "nothing_found", **signed}
        made = rafael.post("/admin/audit/reviews/new/", form)
        self.names["review"] = _key(made)
        self.names["model"] = make_model(document=self.names["filed"]).pk
        assert rafael.post("/access/", {"outcome": "in_order", **signed}).status_code == 302


NOT_GIVEN = RuleFinding("DOWNLOAD_FAILED", facts={"status": 404, "tries": 4})


def _key(answer) -> int:
    """Return the primary key of a new object, from the redirect of the response."""
    assert answer.status_code == 302, answer.content.decode()
    return int(answer["Location"].rstrip("/").rsplit("/", 1)[1])


def first_of(model: type[Model]) -> Model:
    """Return a row of each model in the admin."""
    row = model._default_manager.first()
    assert row is not None, f"the world has no {model._meta.verbose_name}"
    return row
