from django.apps import AppConfig
from django.core import checks


class SitesConfig(AppConfig):
    """Who submits documents, and how fast their portal may be asked."""

    name = "sites"
    # django.contrib.sites owns the label "sites": docs/adr/0001-app-label-clinical-sites.md.
    label = "clinical_sites"
    verbose_name = "Sites and people"

    def ready(self) -> None:
        from sites import retention, sessions, signins

        signins.connect()
        sessions.connect()
        checks.register(retention.check_settings)
        checks.register(retention.check_studies, checks.Tags.database)
