"""Collects the data of a registered site that the checks of its documents need."""

from ingestion.models import ValidityOverride
from ingestion.rules.checks.check_input import SiteFacts
from sites.models import Site


def build_site_facts(site: Site) -> SiteFacts:
    """Return the data of a site, as it is registered now."""
    return SiteFacts(
        site_id=site.site_id,
        protocol_number=site.study.protocol_number,
        name=site.name,
        protocol_version=site.study.protocol_version,
        activated_on=site.activated_on,
        overrides=ValidityOverride.objects.of_study(site.study_id),
        country=site.country,
        investigator=site.investigator,
        investigator_licence=site.investigator_licence,
    )
