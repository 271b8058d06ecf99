"""Runs small operations from end to end in a sandbox (operational qualification)."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

from django.conf import settings

from audit.ledger import append_only
from qualification.sandbox import Sandbox
from qualification.validation.steps import Script, ScriptStep, StepFailed
from samples.corpus import write_corpus
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import SITES
from samples.renditions import Rendition

PASSWORD = "try-siteledger"  # noqa: S105 - of the demo users, who exist only in the sandbox
REVIEWER, COORDINATOR, LOCKED_OUT = "ines", "mara", "jonas"  # user names of demo users
WRONG_PASSWORD = "not the password"  # noqa: S105 - not a password
SITE = SITES[0]
VALID_PACKET = {"irb-approval": Rendition.BORN_DIGITAL, "lab-certification": Rendition.SCAN}
TAMPERED_SEQ = 5
SCRIPT = Script("OQ")
_REVIEW_LINK = re.compile(r"/admin/review/(\d+)/")
_MADE_ON = re.compile(r'name="made_on" value="([^"]*)"')


class Operation:
    """The steps of the script, and the state that they share."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._export = sandbox.folder / "export"
        self._manifest = ""

    def steps(self) -> list[ScriptStep]:
        """Return the steps of the script in order, each bound to this operation."""
        return SCRIPT.steps(self)

    @SCRIPT.step(
        "Create a sandbox with its own database and folders. List its settings.",
        "No setting names a folder, a server or a secret of this installation.",
        is_needed=True,
    )
    def check_isolation(self) -> str:
        if external := self._sandbox.find_external_settings():
            raise StepFailed(f"settings that refer to something outside: {', '.join(external)}")
        return f"everything is in a temporary folder; SQLite {sqlite3.sqlite_version}"

    @SCRIPT.step(
        "Migrate, create a key, load two sites and demo users, start workers and a web server.",
        "All programs start.",
        is_needed=True,
    )
    def set_up(self) -> str:
        corpus = write_corpus(
            self._sandbox.folder / "samples", base_url="http://127.0.0.1:9", today=_today(), sites=2
        )
        for command in (
            ("migrate", "--verbosity", "0"),
            ("audit_keys", "create"),
            ("load_sites", str(corpus.sites)),
            ("demo_users",),
        ):
            self._sandbox.run(*command)
        self._sandbox.start_workers()
        self._sandbox.start_web_server()
        return f"sites {SITES[0].site_id} and {SITES[1].site_id}, a worker host and a web server"

    @SCRIPT.step(
        "Submit a valid packet: an IRB approval, and a scanned laboratory certificate.",
        "2 ARCHIVED.",
    )
    def file_valid_packet(self) -> str:
        for kind, rendition in VALID_PACKET.items():
            self._write_sample("valid", kind, rendition=rendition)
        return self._ingest("valid", {"ARCHIVED": 2})

    @SCRIPT.step(
        "Submit a CV without a signature.", "1 REJECTED, with the reason SIGNATURE_MISSING."
    )
    def reject_unsigned_cv(self) -> str:
        self._write_sample("unsigned", "cv", fault=DocumentFault.UNSIGNED)
        return self._ingest("unsigned", {"REJECTED": 1}, "SIGNATURE_MISSING")

    @SCRIPT.step(
        "Submit a spreadsheet with the extension .pdf.",
        "1 REJECTED, with the reason UNSUPPORTED_TYPE.",
    )
    def reject_spreadsheet(self) -> str:
        self._write_sample("sheet", "delegation-log", fault=DocumentFault.A_SPREADSHEET)
        return self._ingest("sheet", {"REJECTED": 1}, "UNSUPPORTED_TYPE")

    @SCRIPT.step(
        "Submit a signature page of another site.", "1 IN_REVIEW, with the reason SITE_MISMATCH."
    )
    def send_to_review(self) -> str:
        self._write_sample("other-site", "protocol-signature-page", fault=DocumentFault.WRONG_SITE)
        return self._ingest("other-site", {"IN_REVIEW": 1}, "SITE_MISMATCH")

    @SCRIPT.step("Submit the valid packet again.", "2 DEDUPED: each document is filed once.")
    def recognize_duplicates(self) -> str:
        return self._ingest("valid", {"DEDUPED": 2})

    @SCRIPT.step(
        "Sign in with a wrong password, then with the correct one.",
        "The form is shown again (200). The person is signed in (302).",
    )
    def sign_in(self) -> str:
        with self._sandbox.browser() as first, self._sandbox.browser() as second:
            wrong = first.sign_in(COORDINATOR, WRONG_PASSWORD).status_code
            correct = second.sign_in(COORDINATOR, PASSWORD).status_code
        return _expect(
            f"wrong password {wrong}, correct password {correct}",
            "wrong password 200, correct password 302",
        )

    @SCRIPT.step(
        "Open the review queue without signing in. As a coordinator, open the review queue, the "
        "page of the own site and that of another site.",
        "Redirected to the sign-in page (302). Refused (403), shown (200), not found (404).",
    )
    def check_permissions(self) -> str:
        with self._sandbox.browser() as anonymous, self._sandbox.browser() as coordinator:
            to_sign_in = anonymous.get("/admin/review/").status_code
            coordinator.sign_in(COORDINATOR, PASSWORD)
            pages = ("/admin/review/", *(f"/sites/{site.site_id}/" for site in SITES[:2]))
            review, own, other = (coordinator.get(page).status_code for page in pages)
        return _expect(
            f"not signed in {to_sign_in}, review {review}, own site {own}, other site {other}",
            "not signed in 302, review 403, own site 200, other site 404",
        )

    @SCRIPT.step(
        "Release the document in review with a wrong password in the signature.",
        "Refused (400). The document is still in review.",
    )
    def refuse_wrong_signature(self) -> str:
        status, in_review = self._release(WRONG_PASSWORD)
        return _expect(f"status {status}, {in_review} in review", "status 400, 1 in review")

    @SCRIPT.step(
        "Release it with the own user name and password.",
        "Released (302). No document is in review.",
    )
    def release_document(self) -> str:
        status, in_review = self._release(PASSWORD)
        return _expect(f"status {status}, {in_review} in review", "status 302, 0 in review")

    @SCRIPT.step(
        "Enter a wrong password LOCKOUT_FAILURES times, then the correct one.",
        "Locked (429), even for the correct password.",
    )
    def lock_out(self) -> str:
        limit = settings.LOCKOUT_FAILURES
        with self._sandbox.browser() as guesser:
            for _ in range(limit):
                failure = guesser.sign_in(LOCKED_OUT, WRONG_PASSWORD).status_code
            correct = guesser.sign_in(LOCKED_OUT, PASSWORD).status_code
        return _expect(
            f"failure {limit}: {failure}, then the correct password: {correct}",
            f"failure {limit}: 429, then the correct password: 429",
        )

    @SCRIPT.step(
        "Verify the whole ledger.",
        "Exit code 3: consistent. A sandbox has no independent anchor that could confirm it.",
    )
    def verify_ledger(self) -> str:
        result = self._sandbox.manage("verify_audit", "--full", "--json")
        _expect(f"exit code {result.returncode}", "exit code 3")
        verdict = json.loads(result.stdout)
        return f"consistent, {verdict['entries']} entries, head {verdict['head']}"

    @SCRIPT.step(
        "Change the first entry of the ledger by SQL. Delete the last one.",
        "The database refuses both.",
    )
    def refuse_changes_by_sql(self) -> str:
        with closing(sqlite3.connect(self._sandbox.database, timeout=30)) as database:
            for sql in (
                "UPDATE audit_entry SET body = body || ' ' WHERE seq = 1",
                "DELETE FROM audit_entry WHERE seq = (SELECT MAX(seq) FROM audit_entry)",
            ):
                try:
                    database.execute(sql)
                except sqlite3.IntegrityError:
                    continue
                raise StepFailed(f"the database executed: {sql}")
        return "the database refused both"

    @SCRIPT.step(
        f"Drop the triggers in a copy of the database, change entry {TAMPERED_SEQ}, and verify.",
        f"Exit code 1: broken at entry {TAMPERED_SEQ}.",
    )
    def detect_tampering(self) -> str:
        copy = self._sandbox.folder / "tampered.sqlite3"
        with (
            closing(sqlite3.connect(self._sandbox.database)) as database,
            closing(sqlite3.connect(copy)) as tampered,
        ):
            database.backup(tampered)
            for trigger in append_only.trigger_tables("sqlite"):
                tampered.execute(f"DROP TRIGGER {trigger}")
            tampered.execute(
                "UPDATE audit_entry SET body = replace(body, '\"v\":', '\"V\":') WHERE seq = ?",
                [TAMPERED_SEQ],
            )
            tampered.commit()
        result = self._sandbox.manage(
            "verify_audit", "--full", "--json", DATABASE_URL=f"sqlite:///{copy}"
        )
        bad = json.loads(result.stdout)["first_bad"]
        return _expect(
            f"exit code {result.returncode}, broken at entry {bad and bad['seq']}",
            f"exit code 1, broken at entry {TAMPERED_SEQ}",
        )

    @SCRIPT.step(
        "Export the audit trail, and verify it with verify_trail.py alone.",
        "Exit code 0: verified.",
    )
    def verify_export(self) -> str:
        output = self._sandbox.run("export_audit", str(self._export))
        self._manifest = output.split()[-1]
        return _expect(f"exit code {self._run_verifier(self._export)}", "exit code 0")

    @SCRIPT.step(
        "Change one word in a copy of the export, and verify it in the same way.",
        "Exit code 1: not verified.",
    )
    def detect_altered_export(self) -> str:
        altered = self._sandbox.folder / "altered"
        shutil.copytree(self._export, altered)
        entries = altered / "entries.ndjson"
        entries.write_bytes(entries.read_bytes().replace(b"ARCHIVED", b"REJECTED", 1))
        return _expect(f"exit code {self._run_verifier(altered)}", "exit code 1")

    @SCRIPT.step("Hash the whole archive.", "Exit code 0: each file is as it was filed.")
    def verify_archive(self) -> str:
        return self._sandbox.run("verify_archive").strip()

    def _write_sample(
        self,
        folder: str,
        kind: str,
        *,
        rendition: Rendition = Rendition.BORN_DIGITAL,
        fault: DocumentFault | None = None,
    ) -> None:
        target = self._sandbox.folder / folder / f"{kind}.pdf"
        target.parent.mkdir(exist_ok=True)
        content = make_sample(kind, today=_today(), site=SITE, rendition=rendition, fault=fault)
        target.write_bytes(content)

    def _ingest(self, folder: str, states: dict[str, int], code: str = "") -> str:
        """Ingest a folder. Return the states that were observed, or raise StepFailed."""
        command = ("ingest_folder", str(self._sandbox.folder / folder), "--site", SITE.site_id)
        result = json.loads(self._sandbox.run(*command, "--wait", "--json"))
        observed = ", ".join(f"{n} {state}" for state, n in result["states"].items())
        observed += f" ({', '.join(result['codes'])})" if result["codes"] else ""
        if result["states"] != states or (code and code not in result["codes"]):
            raise StepFailed(observed)
        return observed

    def _release(self, password: str) -> tuple[int, int]:
        """Release the document in review by its form, as the reviewer.

        Returns the status of the response, and the number of documents in review afterwards.
        """
        with self._sandbox.browser() as reviewer:
            reviewer.sign_in(REVIEWER, PASSWORD)
            link = _REVIEW_LINK.search(reviewer.get("/admin/review/").text)
            if link is None:
                raise StepFailed("no document is in review")
            page = f"/admin/review/{link[1]}/sign/?action=release"
            made_on = _MADE_ON.search(reviewer.get(page).text)
            form = {
                "made_on": made_on[1] if made_on else "",
                "reason": "The site confirmed by telephone that it is theirs.",
                "username": REVIEWER,
                "password": password,
            }
            status = reviewer.post(page, form).status_code
            links = set(_REVIEW_LINK.findall(reviewer.get("/admin/review/").text))
        return status, len(links)

    def _run_verifier(self, export: Path) -> int:
        """Run the inspector's program in isolated mode (-I), without modules of this software."""
        program = settings.BASE_DIR / "audit" / "export" / "verify_trail.py"
        key = self._sandbox.run("audit_keys", "show").split()[0]
        command = [sys.executable, "-I", str(program), str(export), "--vkey", key]
        return subprocess.run(  # noqa: S603 - our own program
            [*command, "--known", self._manifest], capture_output=True, check=False
        ).returncode


def _expect(observed: str, expected: str) -> str:
    """Return what was observed. Raises StepFailed if it is not what was expected."""
    if observed != expected:
        raise StepFailed(observed)
    return observed


def _today() -> date:
    return datetime.now(UTC).date()
