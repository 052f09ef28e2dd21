"""Bounds on the rounding errors of programs."""

import math
import operator

import numpy as np

from armlet.graph import OPERATIONS
from support.kernels import ROUNDING

COMPARISONS = {"less": operator.lt, "less_equal": operator.le, "equal": operator.eq}


class Bounded:
    """A float with a bound on its error, in units of the rounding error `ROUNDING`."""

    def __init__(self, value, error=0.0):
        self.value, self.error = float(value), error + abs(float(value))

    def __add__(self, other):
        return Bounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other):
        return Bounded(self.value - other.value, self.error + other.error)

    def __mul__(self, other):
        error = abs(self.value) * other.error + abs(other.value) * self.error
        return Bounded(self.value * other.value, error)

    def __truediv__(self, other):
        value = self.value / other.value
        error = (self.error + abs(value) * other.error) / abs(other.value)
        return Bounded(value, error)

    def __neg__(self):
        return Bounded(-self.value, self.error)

    def sin(self):
        return Bounded(math.sin(self.value), self.error + 4)

    def cos(self):
        return Bounded(math.cos(self.value), self.error + 4)

    def sqrt(self):
        return Bounded(math.sqrt(self.value), self.error / math.sqrt(self.value))

    @property
    def has_sign(self):
        """Whether the sign is certain in spite of rounding errors."""
        return abs(self.value) > 16 * ROUNDING * self.error

    def sign(self):
        return Bounded(np.sign(self.value), 0 if self.has_sign else 2 / ROUNDING)

    def exp(self):
        value = math.exp(self.value)
        return Bounded(value, value * (self.error + 4))

    def log(self):
        return Bounded(math.log(self.value), self.error / self.value + 4)

    def tanh(self):
        return Bounded(math.tanh(self.value), self.error + 4)

    def __abs__(self):
        return Bounded(abs(self.value), self.error)

    def floor(self):
        value = math.floor(self.value)
        sides = Bounded(self.value - value, self.error), Bounded(value + 1 - self.value, self.error)
        return Bounded(value, 0 if all(x.has_sign for x in sides) else 2 / ROUNDING)

    def record(self, op, *args):
        values, error = [x.value for x in args], sum(x.error for x in args)
        if op == "pow":
            base, exponent = args
            value = base.value**exponent.value
            bits = abs(exponent.value) * base.error / abs(base.value)
            return Bounded(
                value, abs(value) * (4 + bits + abs(math.log(abs(base.value))) * exponent.error)
            )
        if op == "atan2":
            return Bounded(math.atan2(*values), 4 + error / math.hypot(*values))
        if op in ("min", "max"):
            return Bounded({"min": min, "max": max}[op](values), error)
        if op in COMPARISONS:
            same = args[0] is args[1]
            sure = same or (args[0] - args[1]).has_sign
            return Bounded(COMPARISONS[op](*values), 0 if sure else 2 / ROUNDING)
        condition, x, y = args
        jump = 0 if condition.has_sign or condition.error == 0 else abs(x.value - y.value)
        chosen = x if condition.value else y
        return Bounded(chosen.value, chosen.error + jump / ROUNDING)


def error_bounds(program, state):
    """Bounds on the errors of the outputs in units of `ROUNDING`, even with fused operations."""

    def meaning(op, *operands):
        if op == "input":
            return Bounded(state[operands[0]][operands[1]])
        return OPERATIONS[op](*(x if isinstance(x, Bounded) else Bounded(x) for x in operands))

    values = program.replay(meaning)
    return [(y if isinstance(y, Bounded) else Bounded(y)).error for y in values]
