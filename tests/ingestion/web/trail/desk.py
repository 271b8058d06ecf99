"""An office in memory. Its checks are real ones; jobs wait until a test says `work()`."""

import hashlib
import json
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from audit.history import Search, count, find
from audit.verify import verify
from ingestion.web.trail.office import DONE, FAILED, WAITING, Office


@dataclass
class Job:
    pk: int
    kind: str
    arguments: dict[str, Any]
    asked_by: str
    state: str = WAITING
    done: int = 0
    total: int = 0
    error: str = ""
    created_at: datetime = field(default_factory=timezone.now)
    finished_at: datetime | None = None
    result: dict[str, Any] = field(default_factory=dict)


@dataclass
class Check:
    pk: int
    began_at: datetime
    seconds: float
    mode: str
    to_seq: int
    result: str
    findings: list[str]
    asked_by: str


@dataclass
class Lacking:
    anchor: str
    checkpoints: int
    since: datetime
    error: str


class Desk:
    def __init__(self, folder):
        self.folder = folder
        self.jobs: list[Job] = []
        self.runs: list[Check] = []
        self.lacking: list[Lacking] = []
        self.office = Office(
            check_now=lambda actor: self.ask("verify", {}, actor),
            checks=lambda most: self.runs[::-1][:most],
            export=lambda chosen, actor: self.ask("export", dict(chosen), actor),
            checking=lambda pk: self.find("verify", pk),
            check=lambda pk: self.runs[pk - 1],
            exporting=lambda pk: self.find("export", pk),
            exports=lambda most: [job for job in self.jobs[::-1] if job.kind == "export"][:most],
            unanchored=lambda: self.lacking,
        )

    def ask(self, kind, arguments, actor):
        self.jobs.append(Job(len(self.jobs) + 1, kind, arguments, actor))
        return self.jobs[-1]

    def find(self, kind, pk):
        return next((job for job in self.jobs if (job.kind, job.pk) == (kind, pk)), None)

    def work(self):
        for job in self.jobs:
            if job.state == WAITING:
                job.result = self.verified(job) if job.kind == "verify" else self.exported(job)
                job.state, job.finished_at = DONE, timezone.now()

    def verified(self, job):
        verdict = verify()
        bad = (
            [f"Entry {verdict.first_bad.seq}: {verdict.first_bad.why}."]
            if verdict.first_bad
            else []
        )
        run = Check(
            pk=len(self.runs) + 1,
            began_at=timezone.now(),
            seconds=verdict.seconds,
            mode="full",
            to_seq=verdict.entries,
            result="intact" if verdict.intact else "broken",
            findings=[*bad, *verdict.problems],
            asked_by=job.asked_by,
        )
        self.runs.append(run)
        return {"run": run.pk}

    def exported(self, job):
        """A package of the right form: a manifest with the hash of its one file."""
        given = job.arguments
        search = Search(
            sites=given["sites"],
            subjects=given["subjects"],
            doc_id=given["doc_id"],
            since=datetime.fromisoformat(given["since"]) if given["since"] else None,
            until=datetime.fromisoformat(given["until"]) if given["until"] else None,
        )
        lines = "\n".join(entry.hash for entry in find(search))
        files = {"entries.ndjson": hashlib.sha256(lines.encode()).hexdigest()}
        path = self.folder / f"audit-{job.pk}.zip"
        with zipfile.ZipFile(path, "w") as package:
            package.writestr("entries.ndjson", lines)
            package.writestr(
                "manifest.json", json.dumps({"files": files, "entries": count(search)})
            )
        return {"path": str(path)}

    def fail(self, why):
        for job in self.jobs:
            job.state, job.error = FAILED, why
