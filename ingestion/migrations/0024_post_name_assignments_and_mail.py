import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename Desk to ReviewAssignment and Told to MailedPacket. The tables keep their names."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("ingestion", "0023_post_name_portal_limit_state"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Desk", "ReviewAssignment"),
                migrations.AlterModelTable("ReviewAssignment", "ingestion_desk"),
                migrations.AlterField(
                    "ReviewAssignment",
                    "document",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignment",
                        to="ingestion.document",
                    ),
                ),
                migrations.RenameModel("Told", "MailedPacket"),
                migrations.AlterModelTable("MailedPacket", "ingestion_told"),
                migrations.AlterField(
                    "MailedPacket",
                    "mailbox",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="packets",
                        to="ingestion.mailbox",
                    ),
                ),
                migrations.AlterField(
                    "MailedPacket",
                    "packet",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mailed",
                        to="ingestion.packet",
                    ),
                ),
            ]
        )
    ]
