from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename ApprovalRequest.subject to `about`. The column and its index keep their names.

    `subject` is now the ledger's name of the request itself, as of every recorded row.
    """

    dependencies = [("clinical_sites", "0015_post_notices_by_outbox")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("approvalrequest", "subject", "about"),
                migrations.AlterField(
                    "approvalrequest",
                    "about",
                    models.CharField(db_column="subject", max_length=80),
                ),
                migrations.RemoveIndex("approvalrequest", "approvals_of_a_subject"),
                migrations.AddIndex(
                    "approvalrequest",
                    models.Index(fields=["kind", "about"], name="approvals_of_a_subject"),
                ),
            ]
        )
    ]
