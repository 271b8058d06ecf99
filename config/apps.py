"""The app configuration of the admin site, which also loads the checks of the deployment."""

from django.contrib.admin.apps import AdminConfig


class SiteLedgerAdminConfig(AdminConfig):
    """Django's own admin, with the product's header, sign-in and start; and the site's checks."""

    default_site = "config.admin_site.SiteLedgerAdmin"

    def ready(self) -> None:
        super().ready()
        from config import account_checks, checks  # noqa: F401 - importing them registers them
