"""Who may open what: one table, from the name of an address to the people whom it lets in.

An address that is not here fails the test: whoever adds one says who may see it.
"""

from dataclasses import dataclass

NOBODY = "nobody"
ENDED = "somebody of regulatory affairs whose days are over"
OWN = "a coordinator of the site"
OTHER = "a coordinator of another site"
HOMELESS = "a coordinator without a site"
BARE = "staff without a role"
QA, LEAD, AFFAIRS, OPS = "QA reviewers", "QA leads", "Regulatory affairs", "Operations"
AUDITOR, ADMIN = "Auditors", "an administrator"

OUTSIDE = {NOBODY, ENDED}
COORDINATORS = {OWN, OTHER, HOMELESS}
ROLES = {QA, LEAD, AFFAIRS, OPS, AUDITOR, ADMIN}
STAFF = ROLES | {BARE}
SIGNED_IN = COORDINATORS | STAFF
EVERYBODY = SIGNED_IN | OUTSIDE
REFUSED_IN_EVERY_WAY = {NOBODY, OTHER, BARE, AUDITOR, OPS}  # between them
SEE_SITE = ROLES | {OWN}
SEE_NOTHING = {NOBODY, ENDED, OTHER, HOMELESS, BARE}  # of the site

WRITERS = SIGNED_IN - {AUDITOR}
REVIEWERS = {QA, LEAD}  # no administrator, whatever else they may
TRAIL = {QA, LEAD, AFFAIRS, AUDITOR, ADMIN}
PROVERS = {AFFAIRS, ADMIN}
EXPORTERS = {AFFAIRS, AUDITOR, ADMIN}
OPERATORS = {OPS, ADMIN}
PEOPLE = {AFFAIRS, AUDITOR, ADMIN}
NONE: set[str] = set()


@dataclass(frozen=True, slots=True)
class Door:
    """`see`: GET and HEAD. `send`: POST. `refused`: what the others are told who are signed in."""

    see: set[str]
    send: set[str]
    refused: int = 403


def _page(people: set[str], refused: int = 403) -> Door:
    return Door(people, NONE, refused)


def _post(people: set[str], refused: int = 403) -> Door:
    return Door(NONE, people, refused)


def _form(people: set[str], refused: int = 403) -> Door:
    return Door(people, people, refused)


PAGES = {
    "login": _form(EVERYBODY),
    "login_code": _form(EVERYBODY),
    "logout": _post(EVERYBODY),
    "session": _form(EVERYBODY),
    "password": _form(SIGNED_IN),
    "account": _page(SIGNED_IN),
    "account_code": _form(SIGNED_IN),
    "account_training": _post(WRITERS),
    "account_policy": Door(SIGNED_IN, WRITERS),
    "account_mail": Door(SIGNED_IN, WRITERS),
    "account_identity": _post(WRITERS),
    "password_link": _form(EVERYBODY),
    "approvals": _page(OPERATORS),
    "approval": _form(OPERATORS),
    "access_review": Door(PEOPLE, {AFFAIRS, ADMIN}),
    "access_table": _page(PEOPLE),
    "help": _page(SIGNED_IN),
    "help_rejections": _page(SIGNED_IN),
    "home": _page(SIGNED_IN),
    # What follows holds what the person may see, and for who sees nothing it is empty.
    "required": _page(SIGNED_IN),
    "required_csv": _page(SIGNED_IN),
    "figures": _page(SIGNED_IN),
    "upload": _form(WRITERS),
    "draft_files": Door(SIGNED_IN, WRITERS),
    "upload_allowed": _page(SIGNED_IN, 401),  # what nginx asks
    "resumable_uploads": _post(WRITERS, 401),
    "resumable_upload": _page({OWN}, 401),  # another person's upload does not exist
    # Another's site, packet and document do not exist.
    "draft_file": _post({OWN}, 404),
    "draft_file_guess": _post({OWN}, 404),
    "draft_file_remove": _post(WRITERS),  # idempotent: what is not there is removed
    "packet": _page(SEE_SITE, 404),
    "receipt": _page(SEE_SITE, 404),
    "document": _page(SEE_SITE, 404),
    "original": Door(SEE_SITE, OPERATORS, 404),  # who have to say why
    "page_image": _page(SEE_SITE, 404),
    "correct": _form({OWN}, 404),
    "redeclare": _form({OWN}, 404),
    "retry": _post({OWN}, 404),
    "ask": _form({OWN}, 404),
    "certified_copies": Door(SEE_SITE, SEE_SITE - {AUDITOR}, 404),
    "certified_copy": _page({OWN}, 404),  # whoever signed for it
    "required_of": _page(SEE_SITE, 404),
    "trail": _page(TRAIL),
    "trail_document": _page(TRAIL),
    "trail_packet": _page(TRAIL),
    "trail_site": _page(TRAIL),
    "trail_chain": _page(TRAIL),
    "trail_check_now": _post(PROVERS),
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
    "review": _page(REVIEWERS),
    "review_take": _post(REVIEWERS),
    "review_sign": _form(REVIEWERS),
    "review_together": _post(REVIEWERS),
    "ops": _page(OPERATORS),
    "ops_stuck": _page(OPERATORS),
    "ops_retry": _post(OPERATORS),
    "ops_at_once": _post(OPERATORS),
    "ops_release": _post(OPERATORS),
    "admin:index": Door(STAFF, STAFF - {AUDITOR}),
    "admin:login": Door(STAFF, STAFF - {AUDITOR}),
    "admin:logout": Door(NONE, STAFF - {AUDITOR}),
    "admin:password_change": Door(STAFF, STAFF - {AUDITOR}),
    "admin:password_change_done": _page(STAFF),
    "admin:jsi18n": _page(STAFF),
    "admin:autocomplete": Door(NONE, NONE),  # no page of ours uses it
    "admin:view_on_site": Door(NONE, NONE, 404),  # nor this
    "admin:app_list": Door(ROLES, ROLES - {AUDITOR}, 404),
    "admin:admin/(?P<url>.*)$": Door(NONE, NONE, 404),
    # For machines. The numbers: from this one, or with a token of operations.
    "healthz": _page(EVERYBODY),
    "readyz": _page(EVERYBODY),
    "metrics": _page(EVERYBODY),
    "api:openapi-json": _form(EVERYBODY),
    "api:openapi-view": _form(EVERYBODY),
    "api:api-root": Door(NONE, NONE, 404),
}

# Of the interface for programs: the methods, and the scope that each asks for. No session opens it.
READ, DOWNLOAD, SUBMIT, OPERATE = "read", "download", "submit", "operate"
INTERFACE = {
    "api:submit": {"POST": {SUBMIT}},
    "api:submit_open_packet": {"POST": {SUBMIT}},
    "api:open_packet": {"GET": {SUBMIT}, "DELETE": {SUBMIT}},
    "api:drop_packet": {"GET": {SUBMIT}, "DELETE": {SUBMIT}},  # the same address
    "api:put_file": {"PUT": {SUBMIT}},
    "api_uploads": {"POST": {SUBMIT}},
    "api_upload": {"GET": {SUBMIT}, "HEAD": {SUBMIT}, "DELETE": {SUBMIT}},
    "api:list_batches": {"GET": {READ}},
    # Cancelled by who submitted it, with SUBMIT; this one is somebody else's.
    "api:one_batch": {"GET": {READ}, "DELETE": {OPERATE}},
    "api:cancel_batch": {"GET": {READ}, "DELETE": {OPERATE}},  # the same address
    "api:batch_manifest": {"GET": {READ}},
    "api:list_sites": {"GET": {READ}},
    "api:one_site": {"GET": {READ}},
    "api:required_of_site": {"GET": {READ}},
    "api:pull_site": {"POST": {OPERATE}},
    "api:list_documents": {"GET": {READ}},
    "api:one_document": {"GET": {READ}, "PATCH": {SUBMIT}},
    "api:correct_declaration": {"GET": {READ}, "PATCH": {SUBMIT}},  # the same address
    "api:document_content": {"GET": {DOWNLOAD}, "HEAD": {DOWNLOAD}},
}


@dataclass(frozen=True, slots=True)
class Model:
    """A model in the admin."""

    see: set[str]
    add: set[str]
    change: set[str]
    delete: set[str]


def _read(people: set[str]) -> Model:
    return Model(people, NONE, NONE, NONE)


WAIVERS = ROLES - {OPS, AUDITOR, ADMIN}
MODELS = {
    **{f"ingestion_{name}": _read(ROLES) for name in ("decision", "document", "finding")},
    **{f"ingestion_{name}": _read(ROLES) for name in ("batch", "packet")},
    "ingestion_chunk": _read(OPERATORS),
    **{f"django_q_{name}": _read(OPERATORS) for name in ("failure", "schedule", "success", "ormq")},
    **{
        f"ingestion_{name}": Model(ROLES, PROVERS, PROVERS, PROVERS)
        for name in ("requireddocument", "siterequirement", "validityoverride")
    },
    "ingestion_waiver": Model(ROLES, WAIVERS, WAIVERS, NONE),
    "clinical_sites_legalhold": Model(ROLES - {OPS}, PROVERS, PROVERS, NONE),
    "clinical_sites_study": Model(ROLES, OPERATORS, OPERATORS | {AFFAIRS}, NONE),
    "clinical_sites_portal": Model(OPERATORS, OPERATORS, OPERATORS, {ADMIN}),
    "clinical_sites_site": Model(ROLES, OPERATORS, OPERATORS, NONE),
    "clinical_sites_user": Model(PEOPLE, {ADMIN}, {ADMIN}, NONE),
    "clinical_sites_membership": _read(PEOPLE),
    "clinical_sites_apitoken": Model(OPERATORS, OPERATORS, OPERATORS, NONE),
    "audit_entry": _read(TRAIL),
}


def _pages_of(name: str, model: Model) -> dict[str, Door]:
    """The admin looks a row up for any method, so who sees it may send a GET's question by POST."""
    asks = model.see - {AUDITOR}
    app, _, label = name.rpartition("_")
    return {
        f"admin:{name}_changelist": Door(model.see, asks),
        f"admin:{name}_history": Door(model.see, asks),
        f"admin:{name}_add": _form(model.add),
        f"admin:{name}_change": Door(model.see, model.change),
        f"admin:{name}_delete": _form(model.delete),
        f"admin:admin/{app}/{label}/<path:object_id>/": Door(STAFF, STAFF - {AUDITOR}),  # leads on
    }


DOORS = dict(PAGES)
for _name, _model in MODELS.items():
    DOORS |= _pages_of(_name, _model)
