"""Reports what changed rules or another model would decide differently about filed documents.

Exit codes: 0 nothing would be decided differently; 1 the differences are printed; 2 the documents
could not be judged.
"""

import argparse
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.core.errors import ReadingFault
from ingestion.documents.active_model import ACTIVE_MODEL, BUILT_IN_MODEL, find_model
from ingestion.learning import rejudgement
from ingestion.learning.rejudgement import RejudgementReport
from ingestion.models import LearnedModel

COULD_NOT_RUN = 2


class Command(BaseCommand):
    help = (
        "Reads and checks filed documents again, and prints those that would be decided "
        "differently. No document changes."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--model",
            default=ACTIVE_MODEL,
            metavar="MODEL",
            help=f"{ACTIVE_MODEL} (default), {BUILT_IN_MODEL}, or the number of a learned model.",
        )
        parser.add_argument("--site", default="", metavar="NUMBER", help="Only of this site.")
        parser.add_argument(
            "--limit",
            type=int,
            default=rejudgement.DEFAULT_DOCUMENTS,
            help="The number of documents, the newest first. Default: %(default)s.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, model: str, site: str, limit: int, **options: Any) -> None:
        try:
            report = rejudgement.rejudge(
                list(rejudgement.find_filed_documents(site, limit)),
                find_model(model),
                by=Actor.software("rejudge_filed", OPERATIONS),
            )
        except (LearnedModel.DoesNotExist, ValueError) as error:
            raise CommandError(f"There is no model {model}.", returncode=COULD_NOT_RUN) from error
        except (ReadingFault, OSError) as error:
            message = f"The documents could not be judged: {error}"
            raise CommandError(message, returncode=COULD_NOT_RUN) from error
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(), indent=1, ensure_ascii=False))
        else:
            self._show(report)
        if report.different:
            sys.exit(1)

    def _show(self, report: RejudgementReport) -> None:
        for each in report.differences:
            self.stdout.write(
                f"{each.site}/{each.name}: {each.was_state} as {each.was_type or 'no type'} by "
                f"{each.was_rules}; now {each.state} as {each.type or 'no type'} "
                f"{' '.join(each.codes)}".rstrip()
            )
        self.stdout.write(
            f"Rules {report.rules}: {report.documents} documents, {report.different} would be "
            f"decided differently, {report.unreadable} could not be read."
        )
