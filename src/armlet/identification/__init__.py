"""Identification: motions that excite an arm."""

from armlet.identification.excitation import Excitation
from armlet.identification.excite import excite

__all__ = ["Excitation", "excite"]
