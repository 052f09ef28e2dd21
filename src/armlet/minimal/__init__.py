"""Minimal inertial parameters: what motion can show, and what it cannot."""

from armlet.minimal.lumping import lumped

__all__ = ["lumped"]
