"""The sites that a token sees, whether their portals answer, and asking them again: `/sites`."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path, Query, Router
from pydantic import Field

from api import (
    batches,
    keys,
    problems,
    visibility,
    waiting,
)
from api.auth import ApiRequest, Bearer
from api.paging import Cursor, page
from api.problems import Problem
from api.schemas import (
    BatchOut,
    GapOut,
    ReadinessOut,
    RequirementOut,
    SiteList,
    SiteOut,
    answers,
)
from ingestion.core.breaker import BreakerState
from ingestion.documents.site_readiness import get_readiness
from ingestion.intake import portal_pull
from ingestion.intake.portal_pull import NothingToPull, PortalUnavailable
from ingestion.models import BatchSource
from ingestion.models.requirements import type_name
from ingestion.rules.finding_texts import sentences
from ingestion.rules.site_file.cross_checks import Gap
from ingestion.rules.site_file.requirements import DocumentRequirement
from sites.models import Site, TokenScope

router = Router()
SiteId = Annotated[str, Field(max_length=60, pattern=r"^[^\x00]*$")]


@router.get("", response=answers(SiteList), auth=Bearer(TokenScope.READ), summary="Sites")
def list_sites(request: ApiRequest, response: HttpResponse, asked: Query[Cursor]) -> SiteList:
    shown = page(request, response, visibility.sites(request.auth), asked)
    return SiteList(items=[_out(request, site) for site in shown.rows], next=shown.next)


@router.get(
    "/{site_id}",
    response=answers(SiteOut, errors=(404,)),
    auth=Bearer(TokenScope.READ),
    summary="One site",
)
def one_site(request: ApiRequest, site_id: Path[SiteId]) -> SiteOut:
    return _out(request, _site(request, site_id))


@router.get(
    "/{site_id}/required",
    response=answers(ReadinessOut, errors=(404,)),
    auth=Bearer(TokenScope.READ),
    summary="What a site needs, and where its documents do not fit together",
)
def required_of_site(request: ApiRequest, site_id: Path[SiteId]) -> ReadinessOut:
    """As it is now: nothing of it is stored."""
    stand = get_readiness(_site(request, site_id))
    return ReadinessOut(
        site_id=site_id,
        complete=stand.is_complete,
        met=stand.met,
        required=[_requirement(each) for each in stand.required],
        gaps=[_gap(gap) for gap in stand.gaps],
    )


@router.post(
    "/{site_id}/pulls",
    response=answers(BatchOut, 200, 202, errors=(400, 404, 409)),
    auth=Bearer(TokenScope.OPERATE),
    summary="Ask a site's portal again for what it gave us",
    openapi_extra={"parameters": [keys.DESCRIBED, waiting.DESCRIBED]},
)
def pull_site(request: ApiRequest, response: HttpResponse, site_id: Path[SiteId]) -> Any:
    """202 with the batch to watch. What the portal says is unchanged ends as already on file."""
    site, key = _site(request, site_id), keys.sent_key(request)
    submission = keys.submission(request.auth, BatchSource.PULL, key=key, asks_for=site.site_id)
    try:
        batch = portal_pull.pull_site(site, submission)
    except PortalUnavailable as error:
        detail, headers = str(error), {"Retry-After": str(error.seconds)}
        raise Problem(409, f"Nothing was registered: {detail}.", headers=headers) from None
    except NothingToPull as error:
        raise Problem(409, f"Nothing was registered: {error}.") from None
    return batches.accepted(request, response, batch)


def _site(request: ApiRequest, site_id: str) -> Site:
    site = visibility.sites(request.auth).filter(site_id=site_id).first()
    if site is None:
        raise problems.not_found("site")
    return site


def _requirement(each: DocumentRequirement) -> RequirementOut:
    return RequirementOut(
        document_type=each.kind,
        name=type_name(each.kind),
        whose=each.whose,
        standing=each.standing,
        counts_until=each.paper.expires if each.paper else None,
        reason=each.reason,
        document=each.paper.key if each.paper else None,
    )


def _gap(gap: Gap) -> GapOut:
    said = sentences(gap.code, gap.facts)
    papers = [gap.one, gap.other] if gap.other else [gap.one]
    keys = [paper.key for paper in papers]
    return GapOut(code=gap.code, what=said.what, why=said.why, do=said.do, documents=keys)


def _out(request: HttpRequest, site: Site) -> SiteOut:
    # The row is created when the portal is asked for the first time.
    limit_state = getattr(site.portal, "limit_state", None)
    is_down = limit_state is not None and limit_state.breaker != BreakerState.CLOSED
    return SiteOut(
        site_id=site.site_id,
        name=site.name,
        country=site.country,
        study=site.study.protocol_number,
        portal_answers=not is_down,
        next_probe_at=limit_state.next_probe_at if limit_state is not None and is_down else None,
        url=request.build_absolute_uri(reverse("api:one_site", args=[site.site_id])),
    )
