"""Every account and token of an earlier release goes on record as it is now.

From this release on, entries bind these rows (`audit.ledger.bound_rows`). What became of them before is
not covered: these entries say so.
"""

from typing import Any

from django.db import migrations

from audit.verification.row_check import record_as_found
from sites.ledger_bindings import make_account_kind, make_token_kind

WHY = (
    "The row as the upgrade found it. Changes that were made before, and of which no entry tells, "
    "are not covered by checks of the ledger."
)


def record_rows(apps: Any, _schema_editor: Any) -> None:
    record_as_found(make_account_kind(apps.get_model("clinical_sites", "User")), WHY)
    record_as_found(make_token_kind(apps.get_model("clinical_sites", "ApiToken")), WHY)


class Migration(migrations.Migration):
    atomic = False  # the entries are the last statements of a transaction of their own

    dependencies = [
        ("audit", "0008_entries_of_an_event_and_of_an_actor"),
        ("clinical_sites", "0011_pre_second_person_approval"),
        ("otp_totp", "0003_add_timestamps"),
    ]

    operations = [migrations.RunPython(record_rows, migrations.RunPython.noop)]
