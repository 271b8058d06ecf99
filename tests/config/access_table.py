"""The table of access: the name of each address, and the people who can open it.

A test fails for an address that is missing here, so that each new page states its access.
"""

from dataclasses import dataclass

NOBODY = "nobody"
ENDED = "regulatory affairs after the last day of access"
OWN = "a coordinator of the site"
OTHER = "a coordinator of another site"
WITHOUT_SITE = "a coordinator without a site"
WITHOUT_ROLE = "staff without a role"
QA, LEAD, AFFAIRS, OPS = "QA reviewers", "QA leads", "Regulatory affairs", "Operations"
AUDITOR, ADMIN = "Auditors", "an administrator"

OUTSIDE = {NOBODY, ENDED}
COORDINATORS = {OWN, OTHER, WITHOUT_SITE}
ROLES = {QA, LEAD, AFFAIRS, OPS, AUDITOR, ADMIN}
STAFF = ROLES | {WITHOUT_ROLE}
SIGNED_IN = COORDINATORS | STAFF
EVERYBODY = SIGNED_IN | OUTSIDE
STRANGERS = {NOBODY, OTHER}  # to the data of the site
SEE_SITE = ROLES | {OWN}
SEE_NOTHING = {NOBODY, ENDED, OTHER, WITHOUT_SITE, WITHOUT_ROLE}  # of the site

WRITERS = SIGNED_IN - {AUDITOR}
REVIEWERS = {QA, LEAD}  # no administrator, whatever else they may
TRAIL = {QA, LEAD, AFFAIRS, AUDITOR, ADMIN}
VERIFIERS = {AFFAIRS, ADMIN}
EXPORTERS = {AFFAIRS, AUDITOR, ADMIN}
OPERATORS = {OPS, ADMIN}
PEOPLE = {AFFAIRS, AUDITOR, ADMIN}
NO_ROLE: set[str] = set()


@dataclass(frozen=True, slots=True)
class AccessRule:
    """The people with access: `see` for GET and HEAD, `send` for POST.

    `refused` is the status for all other people who are signed in.
    """

    see: set[str]
    send: set[str]
    refused: int = 403


def _page(people: set[str], refused: int = 403) -> AccessRule:
    return AccessRule(people, NO_ROLE, refused)


def _post(people: set[str], refused: int = 403) -> AccessRule:
    return AccessRule(NO_ROLE, people, refused)


def _form(people: set[str], refused: int = 403) -> AccessRule:
    return AccessRule(people, people, refused)


PAGES = {
    "login": _form(EVERYBODY),
    "login_code": _form(EVERYBODY),
    "logout": _post(EVERYBODY),
    "session": _form(EVERYBODY),
    "password": _form(SIGNED_IN),
    "account": _page(SIGNED_IN),
    "account_code": _form(SIGNED_IN),
    "account_training": _post(WRITERS),
    "account_policy": AccessRule(SIGNED_IN, WRITERS),
    "account_mail": AccessRule(SIGNED_IN, WRITERS),
    "account_identity": _post(WRITERS),
    "password_link": _form(EVERYBODY),
    "approvals": _page(OPERATORS),
    "approval": _form(OPERATORS),
    "access_review": AccessRule(PEOPLE, {AFFAIRS, ADMIN}),
    "access_table": _page(PEOPLE),
    "help": _page(SIGNED_IN),
    "help_rejections": _page(SIGNED_IN),
    "home": _page(SIGNED_IN),
    # What follows holds what the person may see, and for who sees nothing it is empty.
    "required": _page(SIGNED_IN),
    "required_csv": _page(SIGNED_IN),
    "figures": _page(SIGNED_IN),
    "upload": _form(WRITERS),
    "draft_files": AccessRule(SIGNED_IN, WRITERS),
    "upload_allowed": _page(SIGNED_IN, 401),  # what nginx asks
    "resumable_uploads": _post(WRITERS, 401),
    "resumable_upload": _page({OWN}, 401),  # another person's upload does not exist
    # Another's site, packet and document do not exist.
    "draft_file": _post({OWN}, 404),
    "draft_file_type": _post({OWN}, 404),
    "draft_file_remove": _post(WRITERS),  # idempotent: what is not there is removed
    "packet": _page(SEE_SITE, 404),
    "receipt": _page(SEE_SITE, 404),
    "document": _page(SEE_SITE, 404),
    "original": AccessRule(SEE_SITE, OPERATORS, 404),  # who have to say why
    "page_image": _page(SEE_SITE, 404),
    "found_page": _page(SEE_SITE, 404),
    "search": _page(SIGNED_IN),
    "correct": _form({OWN}, 404),
    "redeclare": _form({OWN}, 404),
    "retry": _post({OWN}, 404),
    "ask": _form({OWN}, 404),
    "certified_copies": AccessRule(SEE_SITE, SEE_SITE - {AUDITOR}, 404),
    "certified_copy": _page({OWN}, 404),  # only for the person who signed for it
    "required_of": _page(SEE_SITE, 404),
    "separator_sheets": _page(SEE_SITE, 404),
    "trail": _page(TRAIL),
    "trail_document": _page(TRAIL),
    "trail_packet": _page(TRAIL),
    "trail_site": _page(TRAIL),
    "trail_chain": _page(TRAIL),
    "trail_check_now": _post(VERIFIERS),
    "trail_check": _page(TRAIL),
    "trail_exports": _page(EXPORTERS),
    "trail_export_choose": _page(EXPORTERS),
    "trail_export_confirm": _form(EXPORTERS),
    "trail_export": _page(EXPORTERS),
    "trail_export_file": _page(EXPORTERS),
    "trail_reviews": _page(TRAIL),
    "trail_review": _page(TRAIL),
    "trail_review_new": _form(TRAIL - {AUDITOR, ADMIN}),
    "review_queue": _page(REVIEWERS),
    "review_queue_csv": _page(REVIEWERS),
    "review": _page(REVIEWERS),
    "review_take": _post(REVIEWERS),
    "review_sign": _form(REVIEWERS),
    "review_divide": _form(REVIEWERS),
    "review_redact": _form(REVIEWERS),
    "review_together": _post(REVIEWERS),
    "models": _page(ROLES),
    "model": _page(ROLES),
    "built_in_model": _page(ROLES),
    "model_train": _post({LEAD}),
    "model_report": _post({LEAD}),
    "model_activate": _form({LEAD}),
    "ops": _page(OPERATORS),
    "ops_jobs": _page(ROLES - {QA, AUDITOR}),
    "ops_job": _page(ROLES - {QA, AUDITOR}),
    "ops_job_new": _form({AFFAIRS, OPS, ADMIN}),  # the verification of the archive
    "ops_job_file": _page({LEAD}),  # the result of an assessment
    "ops_job_cancel": _post(OPERATORS),
    "ops_stuck": _page(OPERATORS),
    "ops_retry": _post(OPERATORS),
    "ops_retry_now": _post(OPERATORS),
    "ops_release": _post(OPERATORS),
    "admin:index": AccessRule(STAFF, STAFF - {AUDITOR}),
    "admin:login": AccessRule(STAFF, STAFF - {AUDITOR}),
    "admin:logout": AccessRule(NO_ROLE, STAFF - {AUDITOR}),
    "admin:password_change": AccessRule(STAFF, STAFF - {AUDITOR}),
    "admin:password_change_done": _page(STAFF),
    "admin:jsi18n": _page(STAFF),
    "admin:autocomplete": AccessRule(NO_ROLE, NO_ROLE),  # no page of ours uses it
    "admin:view_on_site": AccessRule(NO_ROLE, NO_ROLE, 404),  # nor this
    "admin:app_list": AccessRule(ROLES, ROLES - {AUDITOR}, 404),
    "admin:admin/(?P<url>.*)$": AccessRule(NO_ROLE, NO_ROLE, 404),
    # For machines. The numbers: from this one, or with a token of operations.
    "healthz": _page(EVERYBODY),
    "readyz": _page(EVERYBODY),
    "metrics": _page(EVERYBODY),
    "fhir_metadata": _page(EVERYBODY),
    "fhir_smart_configuration": _page(EVERYBODY),
    "fhir_token": AccessRule(NO_ROLE, EVERYBODY),  # with an assertion that a client signed
    # No session opens them: the token of a client does.
    "fhir_export": AccessRule(NO_ROLE, NO_ROLE, 401),
    "fhir_export_status": AccessRule(NO_ROLE, NO_ROLE, 401),
    "fhir_export_file": AccessRule(NO_ROLE, NO_ROLE, 401),
    "api:openapi-json": _form(EVERYBODY),
    "api:openapi-view": _form(EVERYBODY),
    "api:api-root": AccessRule(NO_ROLE, NO_ROLE, 404),
}

# Of the interface for programs: the methods, and the scope that each asks for. No session opens it.
READ, DOWNLOAD, SUBMIT, OPERATE, JOBS = "read", "download", "submit", "operate", "jobs"
API_ACCESS = {
    "api:submit": {"POST": {SUBMIT}},
    "api:submit_open_packet": {"POST": {SUBMIT}},
    "api:open_packet": {"GET": {SUBMIT}, "DELETE": {SUBMIT}},
    "api:drop_packet": {"GET": {SUBMIT}, "DELETE": {SUBMIT}},  # the same address
    "api:put_file": {"PUT": {SUBMIT}},
    "api_uploads": {"POST": {SUBMIT}},
    "api_upload": {"GET": {SUBMIT}, "HEAD": {SUBMIT}, "DELETE": {SUBMIT}},
    "api:list_batches": {"GET": {READ}},
    # A submitter can cancel their own batch with SUBMIT. Another account submitted this one.
    "api:one_batch": {"GET": {READ}, "DELETE": {OPERATE}},
    "api:cancel_batch": {"GET": {READ}, "DELETE": {OPERATE}},  # the same address
    "api:batch_manifest": {"GET": {READ}},
    "api:retry_batch": {"POST": {SUBMIT, OPERATE}},
    "api:request_job": {"GET": {JOBS}, "POST": {JOBS}},
    "api:list_jobs": {"GET": {JOBS}, "POST": {JOBS}},  # the same address
    "api:one_job": {"GET": {JOBS}, "DELETE": {JOBS}},
    "api:cancel_job": {"GET": {JOBS}, "DELETE": {JOBS}},  # the same address
    "api:job_file": {"GET": {JOBS}},
    "api:list_sites": {"GET": {READ}},
    "api:one_site": {"GET": {READ}},
    "api:required_of_site": {"GET": {READ}},
    "api:pull_site": {"POST": {OPERATE}},
    "api:list_documents": {"GET": {READ}},
    "api:one_document": {"GET": {READ}, "PATCH": {SUBMIT}},
    "api:correct_declaration": {"GET": {READ}, "PATCH": {SUBMIT}},  # the same address
    "api:search_documents": {"GET": {DOWNLOAD}},
    "api:document_content": {"GET": {DOWNLOAD}, "HEAD": {DOWNLOAD}},
}


@dataclass(frozen=True, slots=True)
class Model:
    """The access to a model in the admin."""

    see: set[str]
    add: set[str]
    change: set[str]
    delete: set[str]


def _read(people: set[str]) -> Model:
    return Model(people, NO_ROLE, NO_ROLE, NO_ROLE)


WAIVERS = ROLES - {OPS, AUDITOR, ADMIN}
MODELS = {
    **{f"ingestion_{name}": _read(ROLES) for name in ("decision", "document", "finding")},
    **{f"ingestion_{name}": _read(ROLES) for name in ("batch", "packet")},
    "ingestion_chunk": _read(OPERATORS),
    **{f"django_q_{name}": _read(OPERATORS) for name in ("failure", "schedule", "success", "ormq")},
    **{
        f"ingestion_{name}": Model(ROLES, VERIFIERS, VERIFIERS, VERIFIERS)
        for name in ("requireddocument", "siterequirement", "validityoverride")
    },
    "ingestion_waiver": Model(ROLES, WAIVERS, WAIVERS, NO_ROLE),
    "clinical_sites_legalhold": Model(ROLES - {OPS}, VERIFIERS, VERIFIERS, NO_ROLE),
    "clinical_sites_study": Model(ROLES, OPERATORS, OPERATORS | {AFFAIRS}, NO_ROLE),
    "clinical_sites_portal": Model(OPERATORS, OPERATORS, OPERATORS, {ADMIN}),
    "clinical_sites_site": Model(ROLES, OPERATORS, OPERATORS, NO_ROLE),
    "clinical_sites_user": Model(PEOPLE, {ADMIN}, {ADMIN}, NO_ROLE),
    "clinical_sites_membership": _read(PEOPLE),
    "clinical_sites_fhirclient": Model({ADMIN}, {ADMIN}, {ADMIN}, NO_ROLE),
    "clinical_sites_apitoken": Model(OPERATORS, OPERATORS, OPERATORS, NO_ROLE),
    "audit_entry": _read(TRAIL),
}


def _pages_of(name: str, model: Model) -> dict[str, AccessRule]:
    """People who can view a row can also send POST: the admin looks up the row for any method."""
    asks = model.see - {AUDITOR}
    app, _, label = name.rpartition("_")
    return {
        f"admin:{name}_changelist": AccessRule(model.see, asks),
        f"admin:{name}_history": AccessRule(model.see, asks),
        f"admin:{name}_add": _form(model.add),
        f"admin:{name}_change": AccessRule(model.see, model.change),
        f"admin:{name}_delete": _form(model.delete),
        f"admin:admin/{app}/{label}/<path:object_id>/": AccessRule(
            STAFF, STAFF - {AUDITOR}
        ),  # leads on
    }


ACCESS = dict(PAGES)
for _name, _model in MODELS.items():
    ACCESS |= _pages_of(_name, _model)
