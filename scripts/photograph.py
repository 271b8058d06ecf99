"""Take screenshots of the main pages of each role: `python -m scripts.photograph URL DIR [broken]`.

`scripts/screenshots` runs this program with the address of a server that has the data of the demo.
The actions are real: a packet is uploaded and checked, and the ledger is verified. The images are
PNG files that are 1200 px wide, and show dates of the current day. `broken` takes only the page of
the ledger's verification, after an entry was changed.
"""

import io
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import SITES

PASSWORD = "try-siteledger"  # noqa: S105 - of `manage.py demo_users`
SITE = SITES[1]
PACKET = {  # newer documents than those of the demo
    "IRB_approval.pdf": ("irb-approval", None),
    "Delegation_log.pdf": ("delegation-log", None),
    "Lab_normal_ranges.pdf": ("lab-normal-ranges", None),
    "Form_FDA_1572.pdf": ("form-fda-1572", DocumentFault.UNSIGNED),
}
REVIEWED_DOCUMENT = "CV, site 1004"  # names another site (`samples.plan`)
COLOURS = 128  # 256 make the file half as large again without a visible difference
MAX_BYTES = 150_000  # of a screenshot
LOAD_IMAGES = "Promise.all([...document.images].map(each => each.decode().catch(() => null)))"
TIMEOUT_MILLISECONDS = 120_000  # for the checks of a packet, and for a verification


class Photographer:
    """Takes screenshots of pages, and saves them in a folder."""

    def __init__(self, browser: Browser, url: str, folder: Path) -> None:
        self._browser, self._url, self._folder = browser, url, folder

    @contextmanager
    def signed_in(self, name: str, *, width: int = 1200, colours: str = "light") -> Iterator[Page]:
        """Open a page in a browser in which this demo user is signed in. `width` is in pixels."""
        context = self._browser.new_context(
            base_url=self._url,
            viewport={"width": width, "height": 900 if width > 320 else 640},
            color_scheme="dark" if colours == "dark" else "light",
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="UTC",
        )
        page = context.new_page()
        page.goto("/login/")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile(r"^(?!.*/login/)"))
        yield page
        context.close()

    def take(self, page: Page, name: str, *, max_height: int = 1000) -> None:
        """Take a screenshot of the page from its top. `max_height` is in pixels."""
        page.wait_for_load_state("networkidle")
        page.evaluate("document.activeElement?.blur()")
        page.evaluate("scrollTo(0, 0)")  # a dialog is placed in the visible part
        page.evaluate(LOAD_IMAGES)
        width = page.evaluate("innerWidth")
        height = min(max_height, page.evaluate("document.body.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height}
        image = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))  # type: ignore[arg-type]
        path = self._folder / f"{name}.png"
        reduced = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        reduced.save(path, optimize=True)
        size = path.stat().st_size
        sys.stdout.write(f"{path} {size / 1000:.0f} kB\n")
        if size > MAX_BYTES:
            raise SystemExit(f"{path} is larger than {MAX_BYTES / 1000:.0f} kB: lower max_height")


def take_coordinator_pages(photographer: Photographer, files: list[Path]) -> None:
    """Take the upload form with these files, and the pages of the packet after it."""
    with photographer.signed_in("jonas") as page:
        page.goto(f"/packets/new/?site={SITE.site_id}")
        page.get_by_role("button", name="Select files").wait_for()
        page.locator("[data-drop] input").set_input_files(files)
        hints = page.locator("[data-hint]", has_text="Type detected")
        expect(hints).to_have_count(len(files), timeout=TIMEOUT_MILLISECONDS)
        photographer.take(page, "upload", max_height=1060)
        page.locator("[data-send]").click()
        page.wait_for_url("**/packets/PKT-*/")
        heading = page.get_by_role("heading", name="1 of 4 documents needs your attention")
        heading.wait_for(timeout=TIMEOUT_MILLISECONDS)
        page.locator("summary").first.click()
        photographer.take(page, "packet", max_height=1100)
    with photographer.signed_in("jonas", width=320) as page:
        photographer.take(page, "home_phone", max_height=900)
        page.goto(f"/sites/{SITE.site_id}/")
        photographer.take(page, "site_phone", max_height=900)


def take_qa_pages(photographer: Photographer) -> None:
    """Take the pages of the review."""
    with photographer.signed_in("helena") as page:
        page.goto("/admin/review/")
        photographer.take(page, "queue")
        page.get_by_role("link", name=REVIEWED_DOCUMENT).click()
        page.get_by_role("heading", name=REVIEWED_DOCUMENT).wait_for()
        photographer.take(page, "review")
        page.get_by_role("link", name="Release and file").click()
        page.get_by_role("dialog").get_by_label("Password").wait_for()
        photographer.take(page, "review_sign", max_height=900)


def take_regulatory_affairs_pages(photographer: Photographer) -> None:
    """Take the pages of sites and of the audit trail."""
    with photographer.signed_in("rafael") as page:
        page.goto("/sites/?x=")
        photographer.take(page, "required")
        page.goto("/admin/audit/verify/")
        page.get_by_role("button", name="Verify now").click()
        page.get_by_text("The audit trail is consistent").wait_for(timeout=TIMEOUT_MILLISECONDS)
        page.goto("/admin/audit/verify/")
        photographer.take(page, "chain")


def take_broken_ledger(photographer: Photographer) -> None:
    """Take the page of a ledger whose verification failed."""
    with photographer.signed_in("rafael") as page:
        page.goto("/admin/audit/verify/")
        expect(page.get_by_text("The audit trail is broken.")).to_be_visible()
        photographer.take(page, "chain_broken", max_height=700)


def take_operations_pages(photographer: Photographer) -> None:
    """Take the pages of operations."""
    with photographer.signed_in("olu") as page:
        page.goto("/admin/ops/stuck/")
        photographer.take(page, "stuck")
    for colours in ("light", "dark"):
        with photographer.signed_in("olu", colours=colours) as page:
            photographer.take(page, "operations" if colours == "light" else "operations_dark")


def take_auditor_and_administrator_pages(photographer: Photographer) -> None:
    """Take the pages of an auditor, and those of an administrator."""
    with photographer.signed_in("vera") as page:
        page.goto(f"/admin/audit/export/check/?site={SITE.site_id}")
        photographer.take(page, "auditor_export", max_height=600)
    with photographer.signed_in("admin") as page:
        page.goto("/access/")
        photographer.take(page, "accounts")


def write_packet(folder: Path) -> list[Path]:
    """Write the files of a sample packet to the folder, and return their paths."""
    today = datetime.now(UTC).date()
    for name, (kind, fault) in PACKET.items():
        content = make_sample(kind, today=today, site=SITE, fault=fault, seed=today.year + 1)
        (folder / name).write_bytes(content)
    return [folder / name for name in PACKET]


def main() -> None:
    """Take all screenshots of the installation at the given address."""
    url, folder, *options = sys.argv[1:]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as files:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync"],
        )
        photographer = Photographer(browser, url, Path(folder))
        if options == ["broken"]:
            take_broken_ledger(photographer)
        else:
            take_coordinator_pages(photographer, write_packet(Path(files)))
            take_qa_pages(photographer)
            take_regulatory_affairs_pages(photographer)
            take_operations_pages(photographer)
            take_auditor_and_administrator_pages(photographer)
        browser.close()


if __name__ == "__main__":
    main()
