from django.contrib.admin.apps import AdminConfig


class SiteLedgerAdminConfig(AdminConfig):
    """Django's own admin, with the product's header, sign-in and start."""

    default_site = "config.admin_site.SiteLedgerAdmin"
