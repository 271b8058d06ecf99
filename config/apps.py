"""Configures the app of the admin site, and loads the checks of the deployment."""

from django.contrib.admin.apps import AdminConfig


class SiteLedgerAdminConfig(AdminConfig):
    """Django's admin with the header, sign-in and start page of the product, and all checks."""

    default_site = "config.admin_site.SiteLedgerAdmin"

    def ready(self) -> None:
        super().ready()
        from config import account_checks, checks  # noqa: F401 - the import registers them
