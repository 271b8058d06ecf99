from django.apps import AppConfig
from django.core import checks


class SitesConfig(AppConfig):
    """Who submits documents, and how fast their portal may be asked."""

    name = "sites"
    # django.contrib.sites owns the label "sites": docs/adr/0001-app-label-clinical-sites.md.
    label = "clinical_sites"
    verbose_name = "Sites and people"

    def ready(self) -> None:
        from sites import checks as our_checks
        from sites import identity, portal_approval, sessions, signins, token_approval

        for kind in (identity, portal_approval, token_approval):
            kind.register()
        signins.connect()
        sessions.connect()
        checks.register(our_checks.check_settings)
        checks.register(our_checks.check_studies, checks.Tags.database)
