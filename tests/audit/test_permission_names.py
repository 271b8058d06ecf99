"""Tests that an upgrade changes the names of permissions that the database already has."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import connection

migration = import_module("audit.migrations.0013_post_name_the_permission_to_redact")


@pytest.mark.django_db
def test_an_upgrade_renames_the_permission_to_redact():
    permission = Permission.objects.get(content_type__app_label="audit", codename="redact")
    assert permission.name == migration.NAME
    Permission.objects.filter(pk=permission.pk).update(name="Can take out the detail of an entry")
    migration.rename_permission(apps, connection.schema_editor())
    permission.refresh_from_db()
    assert permission.name == migration.NAME
