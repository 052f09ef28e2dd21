"""Rewriting rules: the identities that each pass applies from left to right.

The letters k, l and m stand for numeric or symbolic constants: operations on these alone are not
counted. Other letters stand for any scalar. A left side with two terms is compared with all pairs
of terms of a sum. Every rule is also applied with any of its letters negated.

The rules assume that combinations of constants neither overflow nor underflow.
"""

from collections.abc import Callable
from typing import Any

from armlet.scalar import cos, sin

Identity = Callable[..., tuple[Any, Any]]
CONSTANTS = frozenset("klm")
"""The letters that stand for constants."""

# fmt: off
PASSES: dict[str, tuple[Identity, ...]] = {
    "factors": (
        lambda a, b, c: (a * b + a * c,               a * (b + c)),
        lambda a, b, c, d: ((a * b) * d + a * c,      a * (b * d + c)),
        lambda a, b, c, d, e: ((a * b) * d + (a * c) * e,  a * (b * d + c * e)),
    ),
    "cancel": (
        lambda x, y: ((x + y) - y,                    x),
        lambda x, y: ((x + y) + (x - y),              2 * x),
    ),
    "constants": (
        lambda k, l: (k + l,                          k + l),
        lambda k, l, x: (k * (l * x),                 (k * l) * x),
        lambda k, l, x: (k * x + l * x,               (k + l) * x),
        lambda k, x: (k * x + x,                      (k + 1) * x),
        lambda k, x, y: ((k * x) * y,                 k * (x * y)),
        lambda k, l, x: (k * (x + l),                 k * x + k * l),
        lambda k, l, m, x: (k * (x + l) + m,          k * x + (k * l + m)),
    ),
    "angles": (
        lambda a, b: (cos(a) * cos(b) - sin(a) * sin(b),  cos(a + b)),
        lambda a, b: (sin(a) * cos(b) + cos(a) * sin(b),  sin(a + b)),
    ),
    "turns": (
        lambda k, l, c, s, x, y: (c * (x + k) - s * (y + l),  (c * x - s * y) + (k * c - l * s)),
        lambda k, l, c, s, x, y: (
            k * (c * x - s * y) + l * (s * x + c * y),  x * (k * c + l * s) + y * (l * c - k * s)),
    ),
    "squares": (
        lambda a: (cos(a) * cos(a) + sin(a) * sin(a), 1),
        lambda k, a: (k * cos(a) * cos(a) + k * sin(a) * sin(a),  k),
        lambda a, x: ((cos(a) * x) * (cos(a) * x) + (sin(a) * x) * (sin(a) * x),  x * x),
        lambda x, y: (x * x - y * y,                  (x + y) * (x - y)),
    ),
}
"""Pass name -> identities, in the order in which the passes are tried."""
# fmt: on
