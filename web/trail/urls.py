"""Below /admin/audit/. What is not here goes on to the admin, which has the single entries."""

from django.urls import path

from web.trail import (
    chain,
    exports,
    timelines,
    trail_reviews,
)

urlpatterns = [
    path("", timelines.trail, name="trail"),
    path("document/<int:pk>/", timelines.of_document, name="trail_document"),
    path("packet/<slug:reference>/", timelines.of_packet, name="trail_packet"),
    path("site/<path:site_id>/", timelines.of_site, name="trail_site"),
    path("verify/", chain.chain, name="trail_chain"),
    path("verify/now/", chain.check_now, name="trail_check_now"),
    path("verify/<int:pk>/", chain.check, name="trail_check"),
    path("export/", exports.exports, name="trail_exports"),
    path("export/new/", exports.choose, name="trail_export_choose"),
    path("export/check/", exports.confirm, name="trail_export_confirm"),
    path("export/<int:pk>/", exports.export, name="trail_export"),
    path("export/<int:pk>/file/", exports.download, name="trail_export_file"),
    path("reviews/", trail_reviews.listed, name="trail_reviews"),
    path("reviews/new/", trail_reviews.new, name="trail_review_new"),
    path("reviews/<int:pk>/", trail_reviews.review, name="trail_review"),
]
