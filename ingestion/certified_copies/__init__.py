"""Makes certified copies of filed documents (21 CFR 11.10(b); ICH E6(R3), "certified copy")."""
