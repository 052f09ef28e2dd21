"""Parameter identification: exciting trajectories, measured logs and estimation."""

from armlet.identification.estimation.friction_fit import friction_shape, sigmoid_friction
from armlet.identification.estimation.instrumental import closed_loop
from armlet.identification.estimation.physical import Physical
from armlet.identification.estimation.torque_model import Sigmoid, TorqueModel
from armlet.identification.excitation.excite import Excitation, excite
from armlet.identification.excitation.limits import MotionLimits
from armlet.identification.identify import Payload, cross_validate, identify, identify_payload
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing import Preprocessing, Samples, preprocess
from armlet.identification.result import Fit, Identified

__all__ = [
    "Excitation",
    "Fit",
    "Identified",
    "Log",
    "MotionLimits",
    "Payload",
    "Physical",
    "Preprocessing",
    "Samples",
    "Sigmoid",
    "TorqueModel",
    "closed_loop",
    "cross_validate",
    "excite",
    "friction_shape",
    "identify",
    "identify_payload",
    "preprocess",
    "sigmoid_friction",
]
