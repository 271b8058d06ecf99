from django.db import migrations


class Migration(migrations.Migration):
    """Remove the state of polls from batches, which hosts keep in memory now."""

    dependencies = [
        ("ingestion", "0042_pre_polls_are_not_stored"),
        ("ingestion", "0045_post_join_scaling"),
    ]

    operations = [
        migrations.RemoveIndex("batch", "batches_to_be_polled"),
        migrations.RemoveField("batch", "next_poll_at"),
        migrations.RemoveField("batch", "polled_count"),
        migrations.RemoveField("batch", "poll_retries"),
    ]
