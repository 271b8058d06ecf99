"""Stores the models of document types that were trained here, and which of them is active.

Rows of both tables are added and never changed. `ingestion.learning` adds them. The active model is
that of the last activation; without one, it is the built-in model.
"""

import hashlib
from typing import Self

from django.db import models
from django.utils import timezone

from audit.ledger.recorded_row import RecordedRow
from ingestion.models.added_only import AddedOnlyRow
from sites.models import User


class LearnedModel(AddedOnlyRow, RecordedRow):
    """Stores a model, what it was trained with, and how it compares with the active one."""

    sha256 = models.CharField(max_length=64, unique=True)  # of `content`
    content = models.TextField()  # JSON: the coefficients
    rules_version = models.CharField(max_length=100)  # of the rules that gave the features
    base_sha256 = models.CharField(max_length=64)  # of the model that training started from
    decisions = models.JSONField(default=list)  # keys of the decisions that it was trained with
    # The numbers of the sites whose documents it was trained with, and of those kept apart.
    training_sites = models.JSONField(default=list)
    test_sites = models.JSONField(default=list)
    # With which model it was compared, the figures of both, and the documents that they judge
    # differently: `ingestion.learning.comparison`.
    comparison = models.JSONField(default=dict)
    trained_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        permissions = [("activate_learnedmodel", "Can activate models of document types")]

    def __str__(self) -> str:
        return f"model {self.pk}"

    def has_content(self, sha256: str) -> bool:
        """Return whether the content is that of this digest, and of the row's own."""
        found = hashlib.sha256(self.content.encode()).hexdigest()
        return found == self.sha256 == sha256


class ModelActivation(AddedOnlyRow):
    """Stores the decision of a person that a model is active from now on."""

    # From 1, without gaps. Two people who decide at the same time cannot both take the next one.
    number = models.PositiveIntegerField(unique=True)
    model = models.ForeignKey(  # None: the built-in model
        LearnedModel, on_delete=models.PROTECT, null=True, blank=True, related_name="activations"
    )
    is_rollback = models.BooleanField()  # back to a model that was active before
    reason = models.CharField(max_length=500)
    activated_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    printed_name = models.CharField(max_length=150)
    role = models.CharField(max_length=200)
    meaning = models.CharField(max_length=300)  # 21 CFR 11.50(a)(3)
    activated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return f"activation {self.number} of {self.model or 'the built-in model'}"

    @classmethod
    def last(cls) -> Self | None:
        """Return the activation that holds now, with its model."""
        last: Self | None = cls._base_manager.select_related("model").order_by("number").last()
        return last
