"""Operational qualification: small operations from end to end in a sandbox."""

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
from qualification.sandbox.browser import Browser
from qualification.validation.steps import Script, ScriptStep, StepFailed
from samples.corpus import write_corpus
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import SITES
from samples.renditions import Rendition

PASSWORD = "try-siteledger"  # noqa: S105 - of the demo's people, whom only a sandbox has
REVIEWER, COORDINATOR, LOCKED_OUT = "ines", "mara", "jonas"
WRONG = "not the password"
SITE = SITES[0]
SOUND = {"irb-approval": Rendition.BORN_DIGITAL, "lab-certification": Rendition.SCAN}
TAMPERED_SEQ = 5
SCRIPT = Script("OQ")
_REVIEWED = re.compile(r"/admin/review/(\d+)/")
_MADE_ON = re.compile(r'name="made_on" value="([^"]*)"')


class Operation:
    """The steps of the script, and the state that they share."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._export = sandbox.folder / "export"
        self._manifest = ""

    def steps(self) -> list[ScriptStep]:
        return SCRIPT.steps(self)

    @SCRIPT.step(
        "Make a sandbox: a database and folders of its own. List its settings.",
        "None names a place, a server or a secret of this installation.",
        is_needed=True,
    )
    def isolated(self) -> str:
        if strays := self._sandbox.strays():
            raise StepFailed(f"these settings point out of it: {', '.join(strays)}")
        return f"a temporary folder holds all; SQLite {sqlite3.sqlite_version}"

    @SCRIPT.step(
        "Migrate, make a key, load two sample sites and people, start workers and web server.",
        "All start.",
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
            self._sandbox.done(*command)
        self._sandbox.start_workers()
        self._sandbox.start_pages()
        return f"sites {SITES[0].site_id} and {SITES[1].site_id}, a worker host and a web server"

    @SCRIPT.step(
        "Take in a sound packet: an IRB approval, and a scanned laboratory certificate.",
        "2 ARCHIVED.",
    )
    def files(self) -> str:
        for kind, rendition in SOUND.items():
            self._write("sound", kind, rendition=rendition)
        return self._became("sound", {"ARCHIVED": 2})

    @SCRIPT.step(
        "Take in a CV that nobody signed.", "1 REJECTED, with the reason SIGNATURE_MISSING."
    )
    def rejects(self) -> str:
        self._write("unsigned", "cv", fault=DocumentFault.UNSIGNED)
        return self._became("unsigned", {"REJECTED": 1}, "SIGNATURE_MISSING")

    @SCRIPT.step(
        "Take in a Word file whose name ends in .pdf.",
        "1 REJECTED, with the reason UNSUPPORTED_TYPE.",
    )
    def refuses_what_is_no_document(self) -> str:
        self._write("word", "delegation-log", fault=DocumentFault.A_WORD_FILE)
        return self._became("word", {"REJECTED": 1}, "UNSUPPORTED_TYPE")

    @SCRIPT.step(
        "Take in a signature page of another site.", "1 IN_REVIEW, with the reason SITE_MISMATCH."
    )
    def asks_people(self) -> str:
        self._write("elsewhere", "protocol-signature-page", fault=DocumentFault.WRONG_SITE)
        return self._became("elsewhere", {"IN_REVIEW": 1}, "SITE_MISMATCH")

    @SCRIPT.step("Take in the sound packet once more.", "2 DEDUPED: filed once.")
    def knows_again(self) -> str:
        return self._became("sound", {"DEDUPED": 2})

    @SCRIPT.step(
        "Sign in with a wrong password, then with the right one.",
        "The form again (200); signed in (302).",
    )
    def signs_in(self) -> str:
        with self._sandbox.browser() as wrong, self._sandbox.browser() as right:
            refused = wrong.sign_in(COORDINATOR, WRONG).status_code
            opened = right.sign_in(COORDINATOR, PASSWORD).status_code
        return _same(
            f"wrong password {refused}, right one {opened}", "wrong password 200, right one 302"
        )

    @SCRIPT.step(
        "Open the review without signing in; as a coordinator; one's own site, and another.",
        "To the sign-in page (302); refused (403); shown (200); as if it were not there (404).",
    )
    def bars(self) -> str:
        with self._sandbox.browser() as nobody, self._sandbox.browser() as mara:
            to_sign_in = nobody.get("/admin/review/").status_code
            mara.sign_in(COORDINATOR, PASSWORD)
            pages = ("/admin/review/", *(f"/sites/{site.site_id}/" for site in SITES[:2]))
            review, own, other = (mara.get(page).status_code for page in pages)
        return _same(
            f"not signed in {to_sign_in}, review {review}, own site {own}, another's {other}",
            "not signed in 302, review 403, own site 200, another's 404",
        )

    @SCRIPT.step(
        "Release the reviewed document with a wrong password in the signature.",
        "Refused (400); the document still waits.",
    )
    def needs_a_signature(self) -> str:
        with self._sandbox.browser() as ines:
            answer = self._sign(ines, WRONG)
            waits = len(set(_REVIEWED.findall(ines.get("/admin/review/").text)))
        return _same(f"answer {answer}, {waits} waits", "answer 400, 1 waits")

    @SCRIPT.step(
        "Release it with one's own name and password.", "Done (302); nothing waits any more."
    )
    def is_signed(self) -> str:
        with self._sandbox.browser() as ines:
            answer = self._sign(ines, PASSWORD)
            waits = len(set(_REVIEWED.findall(ines.get("/admin/review/").text)))
        return _same(f"answer {answer}, {waits} waits", "answer 302, 0 waits")

    @SCRIPT.step(
        "Give a wrong password LOCKOUT_FAILURES times, then the right one.",
        "Locked (429), also for the right one.",
    )
    def locks_out(self) -> str:
        limit = settings.LOCKOUT_FAILURES
        with self._sandbox.browser() as guesser:
            told = [guesser.sign_in(LOCKED_OUT, WRONG).status_code for _ in range(limit)]
            right = guesser.sign_in(LOCKED_OUT, PASSWORD).status_code
        return _same(
            f"failure {limit}: {told[-1]}, then the right password: {right}",
            f"failure {limit}: 429, then the right password: 429",
        )

    @SCRIPT.step(
        "Verify the whole ledger.",
        "Exit code 3: consistent. A sandbox has no anchor elsewhere that could vouch for it.",
    )
    def ledger_holds(self) -> str:
        ended = self._sandbox.manage("verify_audit", "--full", "--json")
        told = json.loads(ended.stdout)
        _same(f"exit code {ended.returncode}", "exit code 3")
        return f"consistent, {told['entries']} entries, head {told['head']}"

    @SCRIPT.step(
        "Change the ledger's first entry by SQL; delete its last.", "The database refuses both."
    )
    def ledger_refuses(self) -> str:
        with closing(sqlite3.connect(self._sandbox.database, timeout=30)) as database:
            for sql in (
                "UPDATE audit_entry SET body = body || ' ' WHERE seq = 1",
                "DELETE FROM audit_entry WHERE seq = (SELECT MAX(seq) FROM audit_entry)",
            ):
                try:
                    database.execute(sql)
                except sqlite3.IntegrityError:
                    continue
                raise StepFailed(f"the database took it: {sql}")
        return "both refused by the database"

    @SCRIPT.step(
        f"Drop the guards in a copy of the database, change entry {TAMPERED_SEQ}, and verify.",
        f"Exit code 1: broken at entry {TAMPERED_SEQ}.",
    )
    def tampering_shows(self) -> str:
        copy = self._sandbox.folder / "tampered.sqlite3"
        with (
            closing(sqlite3.connect(self._sandbox.database)) as database,
            closing(sqlite3.connect(copy)) as there,
        ):
            database.backup(there)
            for guard in append_only.trigger_tables("sqlite"):
                there.execute(f"DROP TRIGGER {guard}")
            there.execute(
                "UPDATE audit_entry SET body = replace(body, '\"v\":', '\"V\":') WHERE seq = ?",
                [TAMPERED_SEQ],
            )
            there.commit()
        told = self._sandbox.manage(
            "verify_audit", "--full", "--json", DATABASE_URL=f"sqlite:///{copy}"
        )
        bad = json.loads(told.stdout)["first_bad"]
        return _same(
            f"exit code {told.returncode}, broken at entry {bad and bad['seq']}",
            f"exit code 1, broken at entry {TAMPERED_SEQ}",
        )

    @SCRIPT.step(
        "Export the audit trail, and check it with verify_trail.py alone.", "Exit code 0: it holds."
    )
    def export_holds(self) -> str:
        told = self._sandbox.done("export_audit", str(self._export))
        self._manifest = told.split()[-1]
        return _same(f"exit code {self._verified(self._export)}", "exit code 0")

    @SCRIPT.step(
        "Change one word in a copy of the export, and check it so.", "Exit code 1: it does not."
    )
    def altered_export_shows(self) -> str:
        altered = self._sandbox.folder / "altered"
        shutil.copytree(self._export, altered)
        entries = altered / "entries.ndjson"
        entries.write_bytes(entries.read_bytes().replace(b"ARCHIVED", b"REJECTED", 1))
        return _same(f"exit code {self._verified(altered)}", "exit code 1")

    @SCRIPT.step("Hash the whole archive.", "Exit code 0: each file is what was filed.")
    def archive_holds(self) -> str:
        return self._sandbox.done("verify_archive").strip()

    def _write(
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

    def _became(self, folder: str, states: dict[str, int], code: str = "") -> str:
        taken_in = ("ingest_folder", str(self._sandbox.folder / folder), "--site", SITE.site_id)
        told = json.loads(self._sandbox.done(*taken_in, "--wait", "--json"))
        observed = ", ".join(f"{n} {state}" for state, n in told["states"].items())
        observed += f" ({', '.join(told['codes'])})" if told["codes"] else ""
        if told["states"] != states or (code and code not in told["codes"]):
            raise StepFailed(observed)
        return observed

    def _sign(self, person: Browser, password: str) -> int:
        """Release the document that waits: as the page's form does."""
        person.sign_in(REVIEWER, PASSWORD)
        waiting = _REVIEWED.search(person.get("/admin/review/").text)
        if waiting is None:
            raise StepFailed("nothing waits for a decision")
        page = f"/admin/review/{waiting[1]}/sign/?action=release"
        made_on = _MADE_ON.search(person.get(page).text)
        form = {
            "made_on": made_on[1] if made_on else "",
            "reason": "The site confirmed by telephone that it is theirs.",
            "username": REVIEWER,
            "password": password,
        }
        return person.post(page, form).status_code

    def _verified(self, export: Path) -> int:
        """By the inspector's own program: Python, and nothing of ours beside it (-I)."""
        program = settings.BASE_DIR / "audit" / "export" / "verify_trail.py"
        key = self._sandbox.done("audit_keys", "show").split()[0]
        command = [sys.executable, "-I", str(program), str(export), "--vkey", key]
        return subprocess.run(  # noqa: S603 - our own program
            [*command, "--known", self._manifest], capture_output=True, check=False
        ).returncode


def _same(observed: str, expected: str) -> str:
    if observed != expected:
        raise StepFailed(observed)
    return observed


def _today() -> date:
    return datetime.now(UTC).date()
