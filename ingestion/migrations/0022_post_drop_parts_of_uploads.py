from django.db import migrations


class Migration(migrations.Migration):
    """Drop the parts of files that the release before received and nobody completed.

    A page that is still open sends such a file again from its beginning. `prune` removes the bytes.
    """

    dependencies = [("ingestion", "0021_pre_resumable_uploads")]

    operations = [migrations.DeleteModel("UploadPart")]
