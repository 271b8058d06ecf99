"""A sandbox: the installed software on a database and folders that are thrown away."""

from qualification.sandbox.sandbox import Sandbox, SandboxError

__all__ = ["Sandbox", "SandboxError"]
