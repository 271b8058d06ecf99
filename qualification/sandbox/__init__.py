"""A sandbox: the installed software on a temporary database and temporary folders."""

from qualification.sandbox.sandbox import Sandbox, SandboxError

__all__ = ["Sandbox", "SandboxError"]
