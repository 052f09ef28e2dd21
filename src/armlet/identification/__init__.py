"""Identification: motions that excite arms, logs of them, and what they say of their parameters."""

from armlet.identification.conditioning import Conditioning, conditioned
from armlet.identification.excitation import Excitation
from armlet.identification.excite import excite
from armlet.identification.findings import Fit
from armlet.identification.identified import Identified
from armlet.identification.identify import identify
from armlet.identification.log import Log
from armlet.identification.model import TorqueModel
from armlet.identification.samples import Samples

__all__ = [
    "Conditioning",
    "Excitation",
    "Fit",
    "Identified",
    "Log",
    "Samples",
    "TorqueModel",
    "conditioned",
    "excite",
    "identify",
]
