from django.db import migrations, models


class Migration(migrations.Migration):
    """Permit that files are divided into documents.

    Code of the release before knows neither the state DIVIDED nor parts of files. So no file is
    divided before this migration, which runs when no old process is left
    (`ingestion.documents.division.is_enabled`).
    """

    dependencies = [
        ("ingestion", "0031_post_join_learning"),
        ("ingestion", "0032_pre_parts_of_files"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="document",
            name="document_state_is_one_of_the_table",
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "RECEIVED",
                            "VALIDATING",
                            "IN_REVIEW",
                            "ARCHIVED",
                            "REJECTED",
                            "DEDUPED",
                            "DIVIDED",
                            "HELD",
                            "RETURNED",
                            "WITHDRAWN",
                            "CANCELLED",
                        ],
                    )
                ),
                name="document_state_is_one_of_the_table",
            ),
        ),
    ]
