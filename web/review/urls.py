"""URLs below /admin/review/."""

from django.urls import path

from web.review import (
    bulk,
    page,
    queue,
    sign,
)

urlpatterns = [
    path("", queue.review_queue, name="review_queue"),
    path("together/", bulk.decide_several, name="review_together"),
    path("<int:pk>/", page.review_page, name="review"),
    path("<int:pk>/take/", page.assign_to_me, name="review_take"),
    path("<int:pk>/sign/", sign.sign_decision, name="review_sign"),
]
