"""Connects accounts, sessions and lockout to the ledger when Django starts."""

from django.apps import AppConfig
from django.core import checks
from django.utils.translation import gettext_lazy as _


class SitesConfig(AppConfig):
    """Studies, sites, portals and accounts."""

    name = "sites"
    # django.contrib.sites owns the label "sites": docs/adr/0001-app-label-clinical-sites.md.
    label = "clinical_sites"
    verbose_name = _("Sites and people")

    def ready(self) -> None:
        from audit.ledger import bound_rows
        from audit.verification import row_check, verify
        from sites import checks as site_checks
        from sites import portal_approval
        from sites.accounts import (
            identity,
            lockout,
            sessions,
            sign_in_log,
            token_approval,
        )
        from sites.ledger_bindings import (
            make_account_kind,
            make_fhir_client_kind,
            make_token_kind,
        )
        from sites.models import ApiToken, FhirClient, User

        bound_rows.register_kind(make_account_kind(User))
        bound_rows.register_kind(make_token_kind(ApiToken))
        bound_rows.register_kind(make_fhir_client_kind(FhirClient))
        verify.register_check(row_check.check_rows_against_ledger)
        for kind in (identity, portal_approval, token_approval):
            kind.register_approval_rule()
        sign_in_log.connect_signals()
        sessions.connect_signals()
        lockout.connect_signals()
        checks.register(site_checks.check_settings)
        checks.register(site_checks.check_studies, checks.Tags.database)
