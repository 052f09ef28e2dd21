"""Parameter estimation from samples: torque models, least squares, physical bodies."""
