"""What a signature shows: printed name, time and meaning (21 CFR 11.50(a); R25)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signs, and as what. The time is that of the signing."""

    actor: str
    role: str
    printed_name: str
    meaning: str

    @property
    def shown(self) -> dict[str, str]:
        """For the detail of the entry."""
        return {"printed_name": self.printed_name, "meaning": self.meaning}
