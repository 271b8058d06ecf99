"""`python -m scripts.photograph URL DIR [broken]`: each role's main pages, as PNG, 1200 px wide.

For `scripts/screenshots`, which serves the demo's work at URL. What people do here is real:
a packet is uploaded and checked, the chain is verified. Dates are those of the day. `broken`: the
page of the chain alone, after an entry was changed behind the guard.
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
PACKET = {  # newer ones than the demo filed
    "IRB_approval.pdf": ("irb-approval", None),
    "Delegation_log.pdf": ("delegation-log", None),
    "Lab_normal_ranges.pdf": ("lab-normal-ranges", None),
    "Form_FDA_1572.pdf": ("form-fda-1572", DocumentFault.UNSIGNED),
}
NAMES_ANOTHER_SITE = "CV, site 1004"  # by `samples.plan`
COLOURS = 128  # of a picture; 256 make it half as large again, and nobody sees it
MOST_BYTES = 150_000
PICTURES = "Promise.all([...document.images].map(each => each.decode().catch(() => null)))"
CHECKED_WITHIN = 120_000  # milliseconds


class Photographer:
    def __init__(self, browser: Browser, url: str, folder: Path) -> None:
        self._browser, self._url, self._folder = browser, url, folder

    @contextmanager
    def signed_in(self, name: str, *, width: int = 1200, colours: str = "light") -> Iterator[Page]:
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

    def take(self, page: Page, name: str, *, most: int = 1000) -> None:
        """The page from its top, at most so many pixels high."""
        page.wait_for_load_state("networkidle")
        page.evaluate("document.activeElement?.blur()")
        page.evaluate(PICTURES)
        width = page.evaluate("innerWidth")
        height = min(most, page.evaluate("document.body.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height}
        taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))  # type: ignore[arg-type]
        path = self._folder / f"{name}.png"
        few = taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
        size = path.stat().st_size
        sys.stdout.write(f"{path} {size / 1000:.0f} kB\n")
        if size > MOST_BYTES:
            raise SystemExit(f"{path} is larger than {MOST_BYTES / 1000:.0f} kB: show less")


def coordinator(photographer: Photographer, files: list[Path]) -> None:
    with photographer.signed_in("jonas") as page:
        page.goto(f"/packets/new/?site={SITE.site_id}")
        page.get_by_role("button", name="Choose files").wait_for()
        page.locator("[data-drop] input").set_input_files(files)
        hints = page.locator("[data-hint]", has_text="recognised")
        expect(hints).to_have_count(len(files), timeout=CHECKED_WITHIN)
        photographer.take(page, "upload", most=1060)
        page.locator("[data-send]").click()
        page.wait_for_url("**/packets/PKT-*/")
        done = page.get_by_role("heading", name="1 of 4 documents needs you")
        done.wait_for(timeout=CHECKED_WITHIN)
        page.locator("summary").first.click()
        photographer.take(page, "packet", most=1100)
    with photographer.signed_in("jonas", width=320) as page:
        photographer.take(page, "home_phone", most=900)
        page.goto(f"/sites/{SITE.site_id}/")
        photographer.take(page, "site_phone", most=900)


def quality(photographer: Photographer) -> None:
    with photographer.signed_in("helena") as page:
        page.goto("/admin/review/")
        photographer.take(page, "queue")
        page.get_by_role("link", name=NAMES_ANOTHER_SITE).click()
        page.get_by_role("heading", name=NAMES_ANOTHER_SITE).wait_for()
        photographer.take(page, "review")
        page.get_by_role("link", name="Release and file").click()
        page.get_by_role("dialog").get_by_label("Password").wait_for()
        photographer.take(page, "review_sign", most=900)


def affairs(photographer: Photographer) -> None:
    with photographer.signed_in("rafael") as page:
        page.goto("/sites/?x=")
        photographer.take(page, "required")
        page.goto("/admin/audit/verify/")
        page.get_by_role("button", name="Verify now").click()
        page.get_by_text("The audit trail is consistent").wait_for(timeout=CHECKED_WITHIN)
        page.goto("/admin/audit/verify/")
        photographer.take(page, "chain")


def broken_chain(photographer: Photographer) -> None:
    with photographer.signed_in("rafael") as page:
        page.goto("/admin/audit/verify/")
        expect(page.get_by_text("The audit trail is broken.")).to_be_visible()
        photographer.take(page, "chain_broken", most=700)


def operations(photographer: Photographer) -> None:
    with photographer.signed_in("olu") as page:
        page.goto("/admin/ops/stuck/")
        photographer.take(page, "stuck")
    for colours in ("light", "dark"):
        with photographer.signed_in("olu", colours=colours) as page:
            photographer.take(page, "operations" if colours == "light" else "operations_dark")


def auditor_and_administrator(photographer: Photographer) -> None:
    with photographer.signed_in("vera") as page:
        page.goto(f"/admin/audit/export/check/?site={SITE.site_id}")
        photographer.take(page, "auditor_export", most=600)
    with photographer.signed_in("admin") as page:
        page.goto("/access/")
        photographer.take(page, "accounts")


def write_packet(folder: Path) -> list[Path]:
    today = datetime.now(UTC).date()
    for name, (kind, fault) in PACKET.items():
        content = make_sample(kind, today=today, site=SITE, fault=fault, seed=today.year + 1)
        (folder / name).write_bytes(content)
    return [folder / name for name in PACKET]


def every_role(photographer: Photographer, packet: list[Path]) -> None:
    coordinator(photographer, packet)
    quality(photographer)
    affairs(photographer)
    operations(photographer)
    auditor_and_administrator(photographer)


def main() -> None:
    url, folder, *what = sys.argv[1:]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as files:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync"],
        )
        photographer = Photographer(browser, url, Path(folder))
        if what == ["broken"]:
            broken_chain(photographer)
        else:
            every_role(photographer, write_packet(Path(files)))
        browser.close()


if __name__ == "__main__":
    main()
