"""Below /admin/review/."""

from django.urls import path

from web.review import (
    bulk,
    page,
    queue,
    sign,
)

urlpatterns = [
    path("", queue.queue, name="review_queue"),
    path("together/", bulk.together, name="review_together"),
    path("<int:pk>/", page.review, name="review"),
    path("<int:pk>/take/", page.take, name="review_take"),
    path("<int:pk>/sign/", sign.sign, name="review_sign"),
]
