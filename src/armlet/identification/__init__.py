"""Identification: motions that excite arms, logs of them, and what they say of their parameters."""

from armlet.identification.closed_loop import closed_loop
from armlet.identification.conditioning import Conditioning, conditioned
from armlet.identification.crossed import cross_validate
from armlet.identification.excitation import Excitation
from armlet.identification.excite import excite
from armlet.identification.findings import Fit
from armlet.identification.identified import Identified
from armlet.identification.identify import identify
from armlet.identification.log import Log
from armlet.identification.model import Sigmoid, TorqueModel
from armlet.identification.payload import Payload, identify_payload
from armlet.identification.samples import Samples
from armlet.identification.shapes import friction_shape, sigmoid_friction

__all__ = [
    "Conditioning",
    "Excitation",
    "Fit",
    "Identified",
    "Log",
    "Payload",
    "Samples",
    "Sigmoid",
    "TorqueModel",
    "closed_loop",
    "conditioned",
    "cross_validate",
    "excite",
    "friction_shape",
    "identify",
    "identify_payload",
    "sigmoid_friction",
]
