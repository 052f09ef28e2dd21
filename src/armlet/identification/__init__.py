"""Identification: logs of arms, and what they say of their parameters."""

from armlet.identification.conditioning import Conditioning, conditioned
from armlet.identification.log import Log
from armlet.identification.samples import Samples

__all__ = ["Conditioning", "Log", "Samples", "conditioned"]
