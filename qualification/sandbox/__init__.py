"""Runs the installed software in a sandbox: a temporary database and temporary folders."""

from qualification.sandbox.sandbox import Sandbox, SandboxError

__all__ = ["Sandbox", "SandboxError"]
