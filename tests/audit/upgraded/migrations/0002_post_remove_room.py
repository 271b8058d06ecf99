from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("upgraded", "0001_pre_add_shelf")]
    operations = [migrations.RemoveField("shelf", "room")]
