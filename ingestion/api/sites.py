"""The sites that a token sees, and whether their portals answer: `/sites`."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Path, Query, Router
from pydantic import Field

from ingestion.api import problems, reach
from ingestion.api.auth import ApiRequest, Bearer
from ingestion.api.paging import Cursor, page
from ingestion.api.schemas import SiteList, SiteOut, answers
from ingestion.core.breaker import BreakerState
from sites.models import Scope, Site

router = Router()
SiteId = Annotated[str, Field(max_length=60, pattern=r"^[^\x00]*$")]


@router.get("", response=answers(SiteList), auth=Bearer(Scope.READ), summary="Sites")
def list_sites(request: ApiRequest, response: HttpResponse, asked: Query[Cursor]) -> SiteList:
    shown = page(request, response, reach.sites(request.auth), asked)
    return SiteList(items=[_out(request, site) for site in shown.rows], next=shown.next)


@router.get(
    "/{site_id}",
    response=answers(SiteOut, errors=(404,)),
    auth=Bearer(Scope.READ),
    summary="One site",
)
def one_site(request: ApiRequest, site_id: Path[SiteId]) -> SiteOut:
    site = reach.sites(request.auth).filter(site_id=site_id).first()
    if site is None:
        raise problems.not_found("site")
    return _out(request, site)


def _out(request: HttpRequest, site: Site) -> SiteOut:
    gate = getattr(site.portal, "gate", None)  # made when its portal is asked for the first time
    is_shut = gate is not None and gate.breaker != BreakerState.CLOSED
    return SiteOut(
        site_id=site.site_id,
        name=site.name,
        country=site.country,
        study=site.study.protocol_number,
        portal_answers=not is_shut,
        next_probe_at=gate.next_probe_at if gate is not None and is_shut else None,
        url=request.build_absolute_uri(reverse("api:one_site", args=[site.site_id])),
    )
