"""Identification: motions that excite arms, logs of them, and what they say of their parameters."""

from armlet.identification.estimation.closed_loop import closed_loop
from armlet.identification.estimation.cross_validation import cross_validate
from armlet.identification.estimation.friction_fit import friction_shape, sigmoid_friction
from armlet.identification.estimation.payload import Payload, identify_payload
from armlet.identification.estimation.torque_model import Sigmoid, TorqueModel
from armlet.identification.excitation.excitation import Excitation
from armlet.identification.excitation.excite import excite
from armlet.identification.findings import Fit
from armlet.identification.identified import Identified
from armlet.identification.identify import identify
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing.preprocessing import Conditioning, conditioned
from armlet.identification.preprocessing.samples import Samples

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
