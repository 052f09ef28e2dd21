"""What can go wrong, by what the user has to mend."""


class ArmletError(Exception):
    """Any error that armlet raises on purpose."""


class ModelError(ArmletError):
    """A robot description that cannot be right."""


class DataError(ArmletError):
    """An array or a log that does not fit the robot."""


class CompileError(ArmletError):
    """A program that cannot be evaluated or printed for the target asked for."""


class ModelWarning(UserWarning):
    """A robot description that can be used but is physically doubtful."""


class DataWarning(UserWarning):
    """An array with entries that have no result."""
