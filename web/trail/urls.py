"""Defines the URLs below /admin/audit/.

The admin answers the other addresses, with the stored entries.
"""

from django.urls import path

from web.trail import (
    chain,
    exports,
    timelines,
    trail_reviews,
)

urlpatterns = [
    path("", timelines.complete_trail, name="trail"),
    path("document/<int:pk>/", timelines.document_trail, name="trail_document"),
    path("packet/<slug:reference>/", timelines.packet_trail, name="trail_packet"),
    path("site/<path:site_id>/", timelines.site_trail, name="trail_site"),
    path("verify/", chain.verification_overview, name="trail_chain"),
    path("verify/now/", chain.start_verification, name="trail_check_now"),
    path("verify/<int:pk>/", chain.verification_page, name="trail_check"),
    path("export/", exports.export_list, name="trail_exports"),
    path("export/new/", exports.choose_export, name="trail_export_choose"),
    path("export/check/", exports.confirm_export, name="trail_export_confirm"),
    path("export/<int:pk>/", exports.export_page, name="trail_export"),
    path("export/<int:pk>/file/", exports.download_export, name="trail_export_file"),
    path("reviews/", trail_reviews.review_list, name="trail_reviews"),
    path("reviews/new/", trail_reviews.new_review, name="trail_review_new"),
    path("reviews/<int:pk>/", trail_reviews.audit_review_page, name="trail_review"),
]
