"""All pages of the product with their people and states, and the addresses that are not pages.

Addresses can name objects of `world`: `/documents/{rejected}/`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.contrib import admin
from django.urls import URLPattern, get_resolver, reverse
from playwright.sync_api import Page as Tab

from ingestion.models import Document
from sites.models import Site, User
from tests.browser.world import first_of

Deed = Callable[[Tab], object]


@dataclass(frozen=True, slots=True)
class Page:
    address: str
    deed: Deed | None = None  # what is done there before one looks
    status: int = 200  # of the address itself, before anything is done
    leads: str = ""  # to an address that has a page only when something was sent to it
    is_alike: bool = False  # as others are, or Django's own: `slow` alone looks at it

    def __str__(self) -> str:
        return f"{self.address}{f' ({self.deed.__name__})' if self.deed else ''}"


def press(name: str, **fields: str) -> Deed:
    """Fill in fields by their labels, and press a button."""

    def pressed(tab: Tab) -> None:
        for label, value in fields.items():
            tab.get_by_label(label.replace("_", " "), exact=True).first.fill(value)
        tab.get_by_role("button", name=name, exact=True).first.click()
        tab.wait_for_load_state()

    pressed.__name__ = f"press {name}"
    return pressed


def refused(name: str, **fields: str) -> Deed:
    """Press the button of an incomplete form, which shows the errors of the server."""
    pressed = press(name, **fields)

    def refusal(tab: Tab) -> None:
        pressed(tab)
        tab.locator(".sl-problems:visible").wait_for()

    refusal.__name__ = f"refused {name}"
    return refusal


def sign_in(name: str, typing: str = "correct horse", times: int = 1) -> Deed:
    def typed(tab: Tab) -> None:
        for _ in range(times):
            press("Sign in", User_name=name, Password=typing)(tab)

    typed.__name__ = f"sign in as {name}, {times} times"
    return typed


def code_wrong(tab: Tab) -> None:
    sign_in("lena")(tab)
    refused("Sign in", Code="000000")(tab)


def open_session_dialog(tab: Tab) -> None:
    tab.evaluate("document.getElementById('session').showModal()")


def open_signature(tab: Tab) -> None:
    tab.get_by_role("link", name="Release and file").click()
    tab.get_by_role("dialog").get_by_label("Password").wait_for()


def refused_signature(tab: Tab) -> None:
    open_signature(tab)
    dialog = tab.get_by_role("dialog")
    dialog.get_by_role("button", name="Sign").click()
    dialog.get_by_role("alert").wait_for()


def choose_files(tab: Tab) -> None:
    tab.get_by_role("button", name="Select files").wait_for()
    cv = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 a CV"}
    no_pdf = {"name": "notes.docx", "mimeType": "application/msword", "buffer": b"PK"}
    tab.locator("[data-drop] input").set_input_files([cv, no_pdf])
    tab.locator(".sl-row").nth(1).wait_for()


def send_too_early(tab: Tab) -> None:
    choose_files(tab)
    tab.locator("[data-send]").click()
    tab.locator("#problems").wait_for()


def return_together(tab: Tab) -> None:
    for box in tab.get_by_role("checkbox").all():
        box.check()
    press("Return selected documents")(tab)


def make_token(tab: Tab) -> None:
    tab.get_by_label("Name").fill("The sponsor's eTMF")
    tab.locator("select[name=site]").select_option(index=1)
    press("Save")(tab)


def nothing_typed(tab: Tab) -> None:
    press("Save")(tab)


def choose_action(action: str) -> Deed:
    def chosen(tab: Tab) -> None:
        tab.locator("#action-toggle").check()
        tab.locator("select[name=action]").select_option(action)
        press("Go")(tab)

    chosen.__name__ = action
    return chosen


_REVIEW, _AUDIT, _OPS = "/admin/review/", "/admin/audit/", "/admin/ops/"

SIGNED_OUT = [
    Page("/login/"),
    Page("/login/", sign_in("mara", "wrong")),
    Page("/login/", sign_in("nobody", "wrong", times=5)),  # locked
    Page("/login/", sign_in("lena"), leads="login_code"),
    Page("/login/", code_wrong),
    Page("/session/"),
    Page("/password/link/MQ/c0ffee-0123/", status=410),
    Page("/help/rejections/"),
    Page("/packets/", status=404),
]
BEFORE_ANYTHING = {
    "otto": ["/", "/sites/", "/sites/0999/", "/figures/", "/packets/new/", "/account/"],
    "nora": ["/", "/sites/", "/packets/new/", "/figures/"],
    "ines": [_REVIEW, "/admin/ingestion/document/"],
    "rafael": [f"{_AUDIT}?site=0999", f"{_AUDIT}verify/", f"{_AUDIT}export/", f"{_AUDIT}reviews/"],
    "olu": [_OPS, f"{_OPS}stuck/"],
}
WITH_EVERYTHING: dict[str, list[Page]] = {
    "new": [
        Page("{link}"),
        Page("{link}", refused("Save password")),
        Page("/account/"),
        Page("/account/policy/"),
        Page("/packets/new/", status=403),
    ],
    "mara": [
        Page("/"),
        Page("/", open_session_dialog),
        *(Page(f"/packets/{{{each}_packet}}/") for each in ("filed", "waiting", "rejected")),
        *(
            Page(f"/documents/{{{each}}}/")
            for each in (
                "filed",
                "waiting",
                "rejected",
                "in_review",
                "locked",
                "asked",
                "not_given",
                "returned",
                "released",
                "withdrawn",
                "corrected",
                "held",
            )
        ),
        Page("/packets/new/"),
        Page("/packets/new/", choose_files),
        Page("/packets/new/", send_too_early),
        Page("/search/"),
        Page("/search/?q=secretary"),
        Page("/search/?q=%22%22"),
        Page("/documents/{filed}/pages/1/found/?q=page"),
        Page("/documents/{rejected}/correct/"),
        Page("/documents/{rejected}/correct/", refused("Send the corrected file")),
        Page("/documents/{corrected}/correct/", status=409),
        Page("/documents/{rejected}/ask/"),
        Page("/documents/{rejected}/ask/", refused("Request a review")),
        Page("/documents/{asked}/ask/", status=409),
        Page("/documents/{in_review}/correct/"),
        Page("/documents/{in_review}/type/"),
        Page("/documents/{in_review}/type/", refused("Save and check again")),
        Page("/documents/{filed}/type/", status=409),
        Page("/documents/{filed}/copies/"),
        Page("/documents/{filed}/copies/", refused("Sign and certify")),
        Page("/sites/{site}/"),
        Page("/figures/"),
        Page("/sites/?incomplete=on"),
        Page("/help/"),
        Page("/help/rejections/"),
        Page("/account/"),
        Page("/account/mail/"),
        Page("/account/policy/"),
        Page("/account/code/"),
        Page("/account/code/", refused("Finish setup")),
        Page("/password/"),
        Page("/password/", refused("Change password")),
        Page("/session/"),
        Page("/documents/999999/", status=404),
        Page("/admin/", status=403),
    ],
    "ines": [
        Page(_REVIEW),
        Page(f"{_REVIEW}?only=asked"),
        Page(f"{_REVIEW}?code=SITE_MISMATCH", return_together, leads="review_together"),
        *(
            Page(f"{_REVIEW}{{{each}}}/")
            for each in (
                "in_review",
                "asked",
                "rejected",
                "not_drawn",
                "returned",
                "filed",
                "another_person",
            )
        ),
        Page("/documents/{locked}/"),
        Page(f"{_REVIEW}{{locked}}/"),
        Page(f"{_REVIEW}{{rejected}}/?page=2&zoom=2"),
        Page(f"{_REVIEW}{{in_review}}/", open_signature),
        Page(f"{_REVIEW}{{in_review}}/", refused_signature),
        *(
            Page(f"{_REVIEW}{{in_review}}/sign/?action={action}")
            for action in ("return", "release", "redeclare")
        ),
        Page(f"{_REVIEW}{{in_review}}/sign/?action=return", refused("Return to site")),
        Page(f"{_REVIEW}{{in_review}}/sign/?action=return&made_on=0", status=409),
        Page(f"{_REVIEW}models/"),
        Page(f"{_REVIEW}models/built-in/"),
        Page(f"{_REVIEW}models/{{model}}/"),
        Page(f"{_REVIEW}models/{{model}}/activate/", refused("Sign and activate")),
        Page(f"{_REVIEW}{{filed}}/sign/?action=withdraw"),
        Page(f"{_REVIEW}{{in_review}}/divide/"),
        Page(f"{_REVIEW}{{in_review}}/divide/", refused("Sign: Divide into documents")),
        Page(f"{_REVIEW}{{in_review}}/redact/"),
        Page(f"{_REVIEW}{{in_review}}/redact/", refused("Sign: Redact participants' data")),
        Page("/documents/{filed}/"),
        Page("/documents/{released}/"),
        Page("/packets/{rejected_packet}/"),
        Page("/sites/?x="),
        Page("/figures/"),
        Page("/admin/"),
        Page("/admin/ingestion/document/"),
        Page("/admin/ingestion/document/{rejected}/change/"),
        Page("/access/", status=403),
    ],
    "rafael": [
        Page(_AUDIT),
        Page(f"{_AUDIT}?person=nobody"),
        Page(f"{_AUDIT}document/{{rejected}}/"),
        Page(f"{_AUDIT}packet/{{rejected_packet}}/"),
        Page(f"{_AUDIT}site/{{site}}/"),
        Page(f"{_AUDIT}verify/"),
        Page(f"{_AUDIT}verify/{{check}}/"),
        Page(f"{_AUDIT}verify/{{check_waits}}/"),
        Page(f"{_AUDIT}export/"),
        Page(f"{_AUDIT}export/new/"),
        Page(f"{_AUDIT}export/check/?doc_id=cv", status=400),
        Page(f"{_AUDIT}export/check/?site=0203"),
        Page(f"{_AUDIT}export/{{export}}/"),
        Page(f"{_AUDIT}export/{{export_waits}}/"),
        Page(f"{_AUDIT}reviews/"),
        Page(f"{_AUDIT}reviews/new/"),
        Page(f"{_AUDIT}reviews/new/", refused("Sign the review")),
        Page(f"{_AUDIT}reviews/{{review}}/"),
        Page("/access/"),
        Page("/access/", refused("Sign the review")),
        Page("/admin/"),
        Page("/admin/clinical_sites/legalhold/add/", nothing_typed),
    ],
    "olu": [
        Page(_OPS),
        Page(f"{_OPS}jobs/"),
        Page(f"{_OPS}jobs/?kind=verify&status=waiting&submitter=nobody"),
        Page(f"{_OPS}jobs/new/verify_archive/"),
        Page(f"{_OPS}jobs/{{check}}/"),
        Page(f"{_OPS}jobs/{{check_waits}}/"),
        Page(f"{_OPS}stuck/"),
        Page(f"{_OPS}stuck/", press("Retry selected documents"), leads="ops_retry"),
        Page(f"{_OPS}stuck/", press("Retry selected documents now"), leads="ops_retry_now"),
        Page(f"{_OPS}stuck/", press("Release selected leases"), leads="ops_release"),
        Page("/documents/{filed}/file/"),
        Page("/documents/{filed}/file/", refused("Download the file")),
        Page("/approvals/"),
        Page("/approvals/{request}/"),
        Page("/approvals/{request}/", refused("Approve the request")),
        Page("/admin/"),
        Page("/admin/ingestion/batch/", choose_action("cancel")),
        Page(_AUDIT, status=403),
    ],
    "vera": [
        Page("/admin/"),
        Page(_AUDIT),
        Page(f"{_AUDIT}export/new/"),
        Page("/documents/{filed}/"),
        Page("/account/"),
        Page("/access/"),
        Page(_REVIEW, status=403),
    ],
    "ada": [
        Page("/admin/"),
        Page("/access/"),
        Page("/admin/clinical_sites/"),
        Page("/approvals/{request}/"),  # her own
        Page("/admin/clinical_sites/user/", choose_action("send_link")),
        Page("/admin/clinical_sites/user/add/", nothing_typed),
        Page("/admin/clinical_sites/user/{mara}/change/", nothing_typed),
        Page("/admin/clinical_sites/apitoken/add/", make_token),
        Page("/admin/clinical_sites/site/?q=nothing"),
        Page("/admin/clinical_sites/portal/", choose_action("delete_selected")),
        Page("/admin/password_change/done/"),
        Page("/admin/nothing/", status=404),
    ],
}

NO_PAGES = {
    # They lead elsewhere.
    "admin:login", "admin:logout", "admin:password_change", "admin:view_on_site", "logout",
    # They change something, and lead to a page.
    "account_identity", "account_training", "draft_file", "draft_file_type", "draft_file_remove",
    "draft_files", "upload_allowed", "resumable_upload", "resumable_uploads",
    "retry", "review_take", "trail_check_now", "ops_job_cancel",
    "model_report", "model_train",
    # They are answered by a file or a picture.
    "access_table", "certified_copy", "page_image", "receipt", "required_csv", "review_queue_csv",
    "separator_sheets",
    "ops_job_file", "trail_export_file",
    # They are for scripts and for monitoring.
    "admin:autocomplete", "admin:jsi18n", "healthz", "readyz", "metrics",
}  # fmt: skip
NO_SECTIONS = ("api:", "api_upload", "fhir_")  # for programs
EXAMPLES = {Document, Site, User}  # of the models: their lists and forms have all that others have


def of_the_admin() -> Iterator[Page]:
    """Return five pages for each model. Pages that are refused are checked once."""
    for model in admin.site._registry:
        is_alike = model not in EXAMPLES
        named = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        key = first_of(model).pk
        yield Page(reverse(f"{named}_changelist"), status=0, is_alike=is_alike)
        yield Page(reverse(f"{named}_change", args=[key]), status=0, is_alike=is_alike)
        yield Page(reverse(f"{named}_add"), status=0, is_alike=True)
        for what in ("history", "delete"):
            yield Page(reverse(f"{named}_{what}", args=[key]), status=0, is_alike=True)


def names() -> set[str]:
    """Return the names of all URLs except for redirects of the admin."""
    return set(_named(get_resolver().url_patterns, ""))


def _named(patterns, space: str) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            if pattern.name:
                yield f"{space}{pattern.name}"
        else:
            inner = f"{pattern.namespace}:" if pattern.namespace else ""
            yield from _named(pattern.url_patterns, f"{space}{inner}")
