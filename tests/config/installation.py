"""One object for every address, and one person of every kind who requests it."""

import io
import uuid
from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ, Schedule, Task

from audit import background_jobs, job_runs, trail_reviews
from audit.electronic_signatures import ElectronicSignature
from audit.export import job as export_job
from audit.ledger.log import ledger
from audit.ledger.queries import get_last_entry
from audit.models import AuditJob
from audit.trail_reviews import Outcome, ReviewScope
from audit.verification import runs
from ingestion.assessment import job as assessment_job
from ingestion.certified_copies import certification
from ingestion.intake import drafts, open_packets
from ingestion.models import (
    Action,
    Document,
    RequiredDocument,
    SiteRequirement,
    ValidityOverride,
    Waiver,
)
from ingestion.rules.findings import RuleFinding
from ingestion.storage import archive_verification
from sites import portal_approval
from sites.models import ApiToken, FhirClient, LegalHold, TokenScope
from tests.config import access_table
from tests.factories import make_site, make_staff, make_user, verdict
from tests.ingestion.learning.stored_models import make_model
from tests.ingestion.reading.documents import make_pdf
from tests.ingestion.review.reviewers import REASON, decide, sender
from tests.web.scenes import IN_REVIEW, make_file_to_divide

NUMBER, NAME, FILE = "7731-Q", "Quarterdeck Infirmary", "quarterdeck-approval"
REMARKED = verdict("ARCHIVED", RuleFinding("PACKET_INCOMPLETE", facts={"missing": "CV"}))


@dataclass(frozen=True, slots=True)
class Installation:
    known: dict[str, object]  # for `addresses.path_to`
    people: dict[str, object]  # by the names of `access_table`; None for nobody
    queries: dict[str, str]  # what an address needs behind its path
    signs: tuple[str, ...]  # text that identifies the site, the document or its sender
    tokens: dict[str, str]  # secrets of programs: of the site, of another one, of operations

    def client(self, who: str) -> Client:
        client = Client(raise_request_exception=False)
        if self.people[who]:
            client.force_login(self.people[who], "sites.backends.People")
        return client


def make_installation() -> Installation:
    site, other = make_site(NUMBER), make_site("0999")
    site.name = NAME
    site.save()
    people = _people(site, other)
    mara, admin = people[access_table.OWN], people[access_table.ADMIN]
    document = _filed(site, mara)
    packet = document.packet
    kept = _kept(mara)
    opened = _opened(site)
    model = make_model()
    known = {
        "model.pk": model.pk,
        "model_activate.name": model.pk,
        "model_report.name": model.pk,
        **_rows(site, document, admin, people[access_table.QA]),
        **_trail(document, mara, admin),
        "admin:app_list": "/admin/ingestion/",
        "admin:admin/(?P<url>.*)$": "/admin/nothing/here",
        "pk": document.pk,
        "review_divide.pk": make_file_to_divide(site, mara).pk,
        "reference": packet.reference,
        "site_id": site.site_id,
        "page": 1,
        "approval.pk": _asked(site, people[access_table.OPS]).pk,
        "uidb64": "MQ",
        "token": "c0ffee-0123456789abcdef",
        "draft_file.pk": kept.pk,
        "draft_file_type.pk": kept.pk,
        "draft_file_remove.pk": kept.pk,
        "api:one_batch.reference": packet.batch.reference,
        "api:cancel_batch.reference": packet.batch.reference,
        "api:batch_manifest.reference": packet.batch.reference,
        "resumable_upload.upload_id": drafts.begin_upload(kept.draft, "next.pdf", 10).pk,
        "packet_id": opened.pk,
        "api_upload.upload_id": open_packets.begin_upload(opened, 0).pk,
        "number": 0,
        "document_id": document.pk,
    }
    signs = (NUMBER, NAME, FILE, packet.reference, mara.printed_name, document.sha256)
    queries = {"review_sign": "?action=withdraw", "trail_export_confirm": f"?site={NUMBER}"}
    return Installation(
        known, people, queries, signs, _tokens(site, other, people[access_table.OPS])
    )


def _people(site, other):
    today = timezone.now().date()
    people = {
        access_table.NOBODY: None,
        access_table.ENDED: make_staff(
            access_table.AFFAIRS, "past", access_until=today - timedelta(days=1)
        ),
        access_table.OWN: make_user("mara", sites=(site,), printed_name="Mara Lindqvist-Quay"),
        access_table.OTHER: make_user("stranger", sites=(other,)),
        access_table.WITHOUT_SITE: make_user("homeless"),
        access_table.WITHOUT_ROLE: make_user("bare", is_staff=True),
        access_table.ADMIN: make_user("ada", is_staff=True, is_superuser=True),
    }
    for role in (
        access_table.QA,
        access_table.LEAD,
        access_table.AFFAIRS,
        access_table.OPS,
        access_table.AUDITOR,
    ):
        name = role.replace(" ", "-").lower()
        until = today + timedelta(days=9) if role == access_table.AUDITOR else None
        people[role] = make_staff(role, name, access_until=until)
    return people


def _asked(site, ops):
    """Return a request that waits for a second person."""
    with ledger():
        wanted = {"base_url": "https://new.example.org/", "allow_http": False}
        return portal_approval.request_change(site.portal, wanted, by=ops, reason="It has moved.")


def _filed(site, mara):
    """Return a filed document with a remark and its bytes."""
    document = sender(site, mara, settings.SPOOL_DIR)(REMARKED, make_pdf())
    Document.objects.filter(pk=document.pk).update(filename=f"{FILE}.pdf")
    document.refresh_from_db()
    return document


def _kept(mara):
    """Return a file in the draft of a coordinator."""
    draft = drafts.begin_draft(mara, "t-1")
    return drafts.add_file(draft, f"{FILE}.pdf", ContentFile(b"%PDF-1.7 kept"))[0]


def _opened(site):
    """Return an open packet of a program whose only file has not arrived."""
    expected = open_packets.DeclaredFile(f"{FILE}.pdf", "cv", "", "ab" * 32, 10)
    return open_packets.open_packet(
        owner=f"site:{site.pk}", key="k", site=site, priority=5, files=[expected]
    )


def _rows(site, document, admin, qa):
    """Return a row for each model in the admin, by the name of its page."""
    now, study, why = timezone.now(), site.study, "Agreed with the sponsor."
    decided = sender(site, site.memberships.get().user, settings.SPOOL_DIR)(IN_REVIEW)
    tasks = [
        Task.objects.create(
            id=uuid.uuid4().hex, name=f"shift-{done}", func="work", started=now, stopped=now,
            success=done,
        )
        for done in (True, False)
    ]  # fmt: skip
    rows = {
        "ingestion_decision": decide(decided, Action.RELEASE, qa),
        "ingestion_document": document,
        "ingestion_finding": document.findings.get(),
        "ingestion_batch": document.batch,
        "ingestion_packet": document.packet,
        "ingestion_chunk": document.chunk,
        "ingestion_requireddocument": RequiredDocument(study=study, document_type="cv"),
        "ingestion_siterequirement": SiteRequirement(site=site, document_type="cv", reason=why),
        "ingestion_validityoverride": ValidityOverride(
            study=study, document_type="cv", max_age_months=3, reason=why
        ),
        "ingestion_waiver": Waiver(site=site, document_type="cv", reason=why, granted_by=admin),
        "django_q_success": tasks[0],
        "django_q_failure": tasks[1],
        "django_q_schedule": Schedule(func="work", name="nightly"),
        "django_q_ormq": OrmQ(key="siteledger", payload="", lock=now),
        "clinical_sites_legalhold": LegalHold(study=study, reason=why, set_by=admin),
        "clinical_sites_study": study,
        "clinical_sites_portal": site.portal,
        "clinical_sites_site": site,
        "clinical_sites_user": site.memberships.get().user,
        "clinical_sites_membership": site.memberships.get(),
        "clinical_sites_fhirclient": FhirClient(client_id="warehouse", public_keys={"keys": []}),
        "clinical_sites_apitoken": _token(TokenScope.READ, site=site)[0],
    }
    for row in rows.values():
        if row.pk is None:
            row.save()
    keys = {name: row.pk for name, row in rows.items()} | {"audit_entry": get_last_entry()[0]}
    return _pages_of(keys) | {
        "admin:view_on_site.content_type_id": ContentType.objects.get_for_model(document).pk,
        "admin:view_on_site.object_id": document.pk,
    }


def _pages_of(keys):
    known = {}
    for name, key in keys.items():
        app, _, label = name.rpartition("_")
        for page in ("history", "delete", "change"):
            known[f"admin:{name}_{page}.object_id"] = key
        known[f"admin:admin/{app}/{label}/<path:object_id>/.object_id"] = key
    return known


def _trail(document, mara, admin):
    """Create a verification, an export, a review of the trail, and a certified copy."""
    today = date.today()  # noqa: DTZ011 - of whom is not the question here
    by = ElectronicSignature(mara.actor, str(mara), certification.MEANING)
    certification.certify(document, reason=REASON, by=by)
    seq = certification.find_certifications(document, mara.actor_name)[0].seq
    review = trail_reviews.sign_review(
        ReviewScope(today, today, site=NUMBER),
        findings="I saw nothing.",
        outcome=Outcome.NOTHING_FOUND,
        by=ElectronicSignature(admin.actor, "Ada", "review"),
    )
    check = runs.request_check(admin.actor)
    search = {"sites": [NUMBER], "subjects": [], "doc_id": "", "since": "", "until": ""}
    call_command("audit_keys", "create", verbosity=0, stdout=io.StringIO())
    export = background_jobs.request_job(
        export_job.KIND, search | {"packet": "", "study": ""}, admin.actor
    )
    while job_runs.run_next_job():
        pass
    assessment = AuditJob.objects.create(
        kind=assessment_job.KIND,
        state=AuditJob.State.DONE,
        finished_at=timezone.now(),
        result={"path": background_jobs.list_latest_jobs(export_job.KIND, 1)[0].result["path"],
                "missed": [], "files": 1, "rules": "1"},
    )  # fmt: skip
    return {
        "certified_copy.seq": seq,
        "trail_review.pk": review.pk,
        "trail_check.pk": check.pk,
        "ops_job.pk": check.pk,
        "ops_job_new.kind": archive_verification.KIND,
        "ops_job_file.pk": assessment.pk,
        "fhir_export_status.number": export.pk,
        "fhir_export_file.number": export.pk,
        "fhir_export_file.name": "1.AuditEvent.ndjson",
        "ops_job_cancel.pk": check.pk,
        **{f"api:{name}.number": export.pk for name in ("one_job", "cancel_job", "job_file")},
        "trail_export.pk": export.pk,
        "trail_export_file.pk": export.pk,
    }


def _token(*scopes, **whose):
    token = ApiToken(
        approved_at=timezone.now(), name="its system", scopes=list(scopes or TokenScope), **whose
    )
    secret = token.generate_secret()
    token.save()
    return token, secret


def _tokens(site, other, ops):
    usual = (TokenScope.READ, TokenScope.DOWNLOAD, TokenScope.SUBMIT)
    return {
        "own": _token(*usual, site=site)[1],
        "other": _token(*usual, site=other)[1],
        "ops": _token(user=ops)[1],
        **{scope.value: _token(scope, user=ops)[1] for scope in TokenScope},
    }
