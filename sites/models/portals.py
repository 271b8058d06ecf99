"""Stores the portals from which the documents of sites are downloaded, with their limits."""

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Replace, Upper
from django.utils.translation import gettext_lazy as _

from audit.ledger.recorded_row import RecordedRow
from sites.portal_origin import validate_portal_address

host_names = RegexValidator(
    r"^\s*([\w.-]+(:\d{1,5})?(\s+|$))*$",
    _("Enter one host per line, for example files.example.org or host:8443."),
)
# Headers that the downloader sets itself are not allowed.
header_name = RegexValidator(
    r"(?i)^(?!(host|range|if-range|connection|content-.*|accept-.*|transfer-.*)$)"
    r"[a-z0-9!#$%&'*+.^_`|~-]+$",
    _("Enter the name of one header, for example Authorization or X-Api-Key."),
)


class Portal(RecordedRow):
    """A host from which documents are downloaded, with its rate and concurrency limits.

    The limits belong to the portal and not to the site.
    """

    key = models.SlugField(max_length=80, unique=True)
    base_url = models.CharField(max_length=500, validators=[validate_portal_address])
    allowed_hosts = models.TextField(
        blank=True,
        validators=[host_names],
        help_text=_(
            "Other hosts that this portal can redirect to, one per line. They never "
            "receive its secret."
        ),
    )
    secret_header = models.CharField(
        max_length=100,
        default="Authorization",
        validators=[header_name],
        help_text=_(
            "The header that carries the portal's secret. The workers read the secret "
            "from the setting PORTAL_SECRET_ followed by the key in capitals, with _ "
            "instead of -."
        ),
    )
    rate_per_second = models.FloatField(default=1.0, validators=[MinValueValidator(0.001)])
    burst = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    max_in_flight = models.PositiveIntegerField(
        default=2,
        validators=[MinValueValidator(1)],
        help_text=_("Concurrent requests of all workers together, on all hosts."),
    )
    timeout_seconds = models.FloatField(default=30.0, validators=[MinValueValidator(0.1)])
    allow_http = models.BooleanField(
        default=False, help_text=_("Only for tests and isolated networks.")
    )
    allow_private_hosts = models.BooleanField(
        default=False, help_text=_("Allow a private or loopback address for this portal.")
    )
    approved_origin = models.CharField(
        _("approved scheme, host and port"),
        max_length=300,
        blank=True,
        db_default="",
        editable=False,
        help_text=_(
            "A second person approved downloads from this origin with the portal's "
            "secret. Other origins are never contacted."
        ),
    )

    mirror_of = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="mirrors",
        verbose_name=_("mirror of"),
        help_text=_(
            "The portal whose documents this one has under its own base address. It is asked "
            "while that portal does not respond. A second person approves this choice."
        ),
    )
    mirror_order = models.PositiveSmallIntegerField(
        _("order among mirrors"),
        default=0,
        db_default=0,
        help_text=_("Mirrors with lower numbers are asked first."),
    )

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
            models.CheckConstraint(
                condition=Q(mirror_of=None) | ~Q(mirror_of=models.F("id")),
                name="portal_is_no_mirror_of_itself",
            ),
            # The keys a-b and A_b would share PORTAL_SECRET_A_B, so one portal would get the secret
            # of the other.
            models.UniqueConstraint(
                Upper(Replace("key", Value("-"), Value("_"))), name="portal_has_a_secret_of_its_own"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    def clean(self) -> None:
        # The same format as in the site import, so that an equal list is not a change.
        self.allowed_hosts = "\n".join(self.allowed_hosts.lower().split())
        if self.mirror_of is None:
            return
        if self.mirror_of_id == self.pk or self.mirror_of.mirror_of_id is not None:
            raise ValidationError({"mirror_of": _("Select a portal that is not a mirror itself.")})
        if self.pk and (self.mirrors.exists() or self.sites.exists()):
            raise ValidationError(
                {"mirror_of": _("A portal with sites or with mirrors cannot be a mirror.")}
            )
