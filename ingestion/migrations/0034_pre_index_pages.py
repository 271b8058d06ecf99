import django.db.models.deletion
from django.db import migrations, models

from ingestion.search import indexes


def create_indexes(apps, schema_editor):
    """Create the full-text indexes, which differ between the databases."""
    indexes.create_indexes(schema_editor.connection)


def drop_indexes(apps, schema_editor):
    """Drop what is not a part of the tables."""
    indexes.drop_indexes(schema_editor.connection)


class Migration(migrations.Migration):
    """Create the index of the full-text search, which is empty until `index_pages` runs.

    It depends on no migration that runs after an upgrade, as `0032_pre_parts_of_files` says. If the
    extension pg_trgm cannot be created, the migration goes on, and a system check says so.
    """

    dependencies = [
        ("clinical_sites", "0012_pre_entries_bind_accounts_and_tokens"),
        ("ingestion", "0033_pre_separator_sheets"),
    ]

    operations = [
        migrations.CreateModel(
            name="IndexedWord",
            fields=[
                ("word", models.CharField(max_length=64, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name="IndexedPage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("page", models.PositiveIntegerField()),
                ("words", models.BinaryField()),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="indexed_pages",
                        to="ingestion.document",
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="clinical_sites.site",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RemovedWords",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("page", models.PositiveIntegerField()),
                ("area", models.JSONField(blank=True, null=True)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="removed_words",
                        to="ingestion.document",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="indexedpage",
            index=models.Index(fields=["site", "id"], name="indexed_pages_of_a_site"),
        ),
        migrations.AddConstraint(
            model_name="indexedpage",
            constraint=models.UniqueConstraint(
                fields=("document", "page"), name="a_page_is_indexed_once"
            ),
        ),
        migrations.AddIndex(
            model_name="removedwords",
            index=models.Index(fields=["document", "page"], name="removed_words_of_a_page"),
        ),
        migrations.RunPython(create_indexes, drop_indexes),
    ]
