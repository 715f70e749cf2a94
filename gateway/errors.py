"""Failures of the gateway as a user sees them: each message names what is wrong and what to do."""

from __future__ import annotations


class GatewayError(Exception):
    """The outside world failed (exit code 3)."""


class UsageError(Exception):
    """The command was used wrongly (exit code 2)."""
