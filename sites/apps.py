from django.apps import AppConfig


class SitesConfig(AppConfig):
    """Who submits documents, and how fast their portal may be asked."""

    name = "sites"
    # django.contrib.sites owns the label "sites": docs/adr/0001-app-label-clinical-sites.md.
    label = "clinical_sites"
    verbose_name = "Sites and people"

    def ready(self) -> None:
        from sites import sessions, signins

        signins.connect()
        sessions.connect()
