"""Portals that sites' documents are downloaded from, with their limits."""

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Replace, Upper

address_without_secrets = RegexValidator(
    r"^https?://[^\s/?#@]+([/?#]|$)",
    "An address without a name or password in it: secrets are references (PORTAL_SECRET_...).",
)
host_names = RegexValidator(
    r"^\s*([\w.-]+(:\d{1,5})?(\s+|$))*$",
    "One host on each line, as files.example.org or host:8443.",
)
# Not one of those that say what is asked for and how it comes: they are ours.
header_name = RegexValidator(
    r"(?i)^(?!(host|range|if-range|connection|content-.*|accept-.*|transfer-.*)$)"
    r"[a-z0-9!#$%&'*+.^_`|~-]+$",
    "The name of one header, as Authorization or X-Api-Key.",
)


class Portal(models.Model):
    """A host that sites' documents are fetched from. Bucket and cap belong to it (decision 11)."""

    key = models.SlugField(max_length=80, unique=True)
    base_url = models.URLField(max_length=500, validators=[address_without_secrets])
    allowed_hosts = models.TextField(
        blank=True,
        validators=[host_names],
        help_text="Further hosts that this portal may send us to, one on each line. "
        "They never see its secret.",
    )
    secret_header = models.CharField(
        max_length=100,
        default="Authorization",
        validators=[header_name],
        help_text="The header for this portal's secret. The secret itself is given to the workers "
        "as PORTAL_SECRET_ and the key, in capitals and with _ for -.",
    )
    rate_per_second = models.FloatField(default=1.0, validators=[MinValueValidator(0.001)])
    burst = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    max_in_flight = models.PositiveIntegerField(
        default=2,
        validators=[MinValueValidator(1)],
        help_text="Requests at a time of each worker process, not of all together.",
    )
    timeout_seconds = models.FloatField(default=30.0, validators=[MinValueValidator(0.1)])
    allow_http = models.BooleanField(default=False, help_text="Only for tests and closed networks.")
    allow_private_hosts = models.BooleanField(
        default=False, help_text="Let this portal be on a private or loopback address."
    )
    approved_origin = models.CharField(
        "approved scheme, host and port",
        max_length=300,
        blank=True,
        db_default="",
        editable=False,
        help_text="A second person approved that the portal is asked there, with its secret. "
        "Nothing is asked of another origin.",
    )
    revision = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["key"]
        constraints = [
            models.CheckConstraint(
                condition=Q(rate_per_second__gt=0), name="portal_rate_is_positive"
            ),
            models.CheckConstraint(condition=Q(burst__gte=1), name="portal_allows_at_least_one"),
            models.CheckConstraint(
                condition=Q(max_in_flight__gte=1), name="portal_serves_at_least_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(timeout_seconds__gt=0), name="portal_timeout_is_positive"
            ),
            # a-b and A_b would be one PORTAL_SECRET_A_B, and one would be shown the other's.
            models.UniqueConstraint(
                Upper(Replace("key", Value("-"), Value("_"))), name="portal_has_a_secret_of_its_own"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    def clean(self) -> None:
        # As the roster writes it, so that the same list is no change.
        self.allowed_hosts = "\n".join(self.allowed_hosts.lower().split())
