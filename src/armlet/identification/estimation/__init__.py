"""Estimation of parameters from samples: torque models, least squares, physical bodies."""
