"""Stores the signed results of assessments: one row for each, which is added and never changed."""

from django.db import models
from django.utils import timezone

from audit.ledger.recorded_row import RecordedRow
from ingestion.models.added_only import AddedOnlyRow
from sites.models import User


class Assessment(AddedOnlyRow, RecordedRow):
    """Stores one assessment. Its result is a file of the archive, and its entry is signed."""

    sha256 = models.CharField(max_length=64)  # of the result, a JSON file in the archive
    corpus_sha256 = models.CharField(max_length=64)  # of the list of the files with their SHA-256
    truth_sha256 = models.CharField(max_length=64, blank=True)  # of the truth file; "" without one
    rules_version = models.CharField(max_length=100)
    files = models.PositiveIntegerField()
    is_passed = models.BooleanField()  # every criterion is met
    signed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="assessments")
    printed_name = models.CharField(max_length=150)
    meaning = models.CharField(max_length=300)  # 21 CFR 11.50(a)(3)
    signed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        permissions = [("sign_assessment", "Can sign the assessment of rules")]

    def __str__(self) -> str:
        return f"assessment {self.pk} of rules {self.rules_version}"
