"""Defines the URLs below /admin/review/."""

from django.urls import path

from web.review import (
    bulk,
    divide,
    models,
    page,
    queue,
    redact,
    sign,
)

urlpatterns = [
    path("", queue.review_queue, name="review_queue"),
    path("queue.csv", queue.review_queue_csv, name="review_queue_csv"),
    path("together/", bulk.decide_several, name="review_together"),
    path("models/", models.model_list, name="models"),
    path("models/train/", models.train_now, name="model_train"),
    path("models/built-in/", models.built_in_page, name="built_in_model"),
    path("models/<int:pk>/", models.model_page, name="model"),
    path("models/<slug:name>/activate/", models.activate_model, name="model_activate"),
    path("models/<slug:name>/report/", models.request_report, name="model_report"),
    path("<int:pk>/", page.review_page, name="review"),
    path("<int:pk>/take/", page.assign_to_me, name="review_take"),
    path("<int:pk>/divide/", divide.divide_file, name="review_divide"),
    path("<int:pk>/redact/", redact.redact_document, name="review_redact"),
    path("<int:pk>/sign/", sign.sign_decision, name="review_sign"),
]
