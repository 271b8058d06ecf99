"""Serves `/sites`: the sites that a token can see, their portals and required documents."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path, Query, Router
from pydantic import Field

from api import batches
from api.http import keys, problems, visibility, waiting
from api.http.auth import ApiRequest, Bearer
from api.http.paging import NO_NUL, Cursor, paginate
from api.http.problems import Problem
from api.schemas import (
    BatchOut,
    GapOut,
    ReadinessOut,
    RequirementOut,
    SiteList,
    SiteOut,
    make_responses,
)
from ingestion.documents.portal_sources import (
    SiteSourceKind,
    SourceStatus,
    describe_source,
    describe_sources,
)
from ingestion.documents.site_readiness import get_readiness
from ingestion.intake import portal_pull
from ingestion.intake.portal_pull import NothingToPull, PortalUnavailable
from ingestion.models import BatchSource
from ingestion.models.requirements import get_type_name
from ingestion.rules.finding_texts import format_sentences
from sites.models import Site, TokenScope

router = Router()
SiteId = Annotated[str, Field(max_length=60, pattern=NO_NUL)]


@router.get(
    "", response=make_responses(SiteList), auth=Bearer(TokenScope.READ), summary="List sites"
)
def list_sites(request: ApiRequest, response: HttpResponse, query: Query[Cursor]) -> SiteList:
    """Return one page of the sites that the token can see."""
    page = paginate(request, response, visibility.list_visible_sites(request.auth), query)
    sources = describe_sources(page.rows)
    items = [_describe_site(request, site, sources[site.pk]) for site in page.rows]
    return SiteList(items=items, next=page.next)


@router.get(
    "/{site_id}",
    response=make_responses(SiteOut, errors=(404,)),
    auth=Bearer(TokenScope.READ),
    summary="Get one site",
)
def one_site(request: ApiRequest, site_id: Path[SiteId]) -> SiteOut:
    """Return one site. Responds with problem 404 if the token cannot see it."""
    site = _find_site(request, site_id)
    return _describe_site(request, site, describe_source(site))


@router.get(
    "/{site_id}/required",
    response=make_responses(ReadinessOut, errors=(404,)),
    auth=Bearer(TokenScope.READ),
    summary="Get the required documents of a site, and conflicts between its documents",
)
def required_of_site(request: ApiRequest, site_id: Path[SiteId]) -> ReadinessOut:
    """List the required documents of a site.

    The response is computed for each request. Nothing of it is stored.
    """
    readiness = get_readiness(_find_site(request, site_id))
    required = [
        RequirementOut(
            document_type=requirement.document_type,
            name=get_type_name(requirement.document_type),
            whose=requirement.whose,
            standing=requirement.status,
            counts_until=requirement.document.expires if requirement.document else None,
            reason=requirement.reason,
            document=requirement.document.key if requirement.document else None,
        )
        for requirement in readiness.required
    ]
    gaps = []
    for gap in readiness.gaps:
        text = format_sentences(gap.code, gap.facts)
        documents = [gap.one.key, gap.other.key] if gap.other else [gap.one.key]
        gaps.append(
            GapOut(code=gap.code, what=text.what, why=text.why, do=text.do, documents=documents)
        )
    return ReadinessOut(
        site_id=site_id,
        complete=readiness.is_complete,
        met=readiness.met,
        required=required,
        gaps=gaps,
    )


@router.post(
    "/{site_id}/pulls",
    response=make_responses(BatchOut, 200, 202, errors=(400, 404, 409)),
    auth=Bearer(TokenScope.OPERATE),
    summary="Download the documents of a site's portal again",
    openapi_extra={"parameters": [keys.OPENAPI_PARAMETER, waiting.OPENAPI_PARAMETER]},
)
def pull_site(request: ApiRequest, response: HttpResponse, site_id: Path[SiteId]) -> Any:
    """Request the documents of the site from its portal. Returns 202 with the batch.

    Documents that the portal reports as unchanged end as already on file.
    """
    site, key = _find_site(request, site_id), keys.read_key(request)
    submission = keys.make_submission(
        request.auth, BatchSource.PULL, key=key, asks_for=site.site_id
    )
    try:
        batch = portal_pull.pull_site(site, submission)
    except PortalUnavailable as error:
        headers = {"Retry-After": str(error.seconds)}
        raise Problem(409, f"Nothing was registered: {error}.", headers=headers) from None
    except NothingToPull as error:
        raise Problem(409, f"Nothing was registered: {error}.") from None
    return batches.make_accepted_response(request, response, batch)


def _find_site(request: ApiRequest, site_id: str) -> Site:
    """Return a site that the token can see. Raises Problem 404."""
    site = visibility.list_visible_sites(request.auth).filter(site_id=site_id).first()
    if site is None:
        raise problems.make_not_found_problem("site")
    return site


def _describe_site(request: HttpRequest, site: Site, status: SourceStatus) -> SiteOut:
    return SiteOut(
        site_id=site.site_id,
        name=site.name,
        country=site.country,
        study=site.study.protocol_number,
        portal_answers=status.kind == SiteSourceKind.PORTAL,
        source=status.kind,
        next_probe_at=status.next_probe_at,
        url=request.build_absolute_uri(reverse("api:one_site", args=[site.site_id])),
    )
