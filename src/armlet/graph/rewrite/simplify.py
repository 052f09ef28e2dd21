"""Simplification: passes over a program, in rounds as long as they gain something."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from armlet.graph.count import M_PLUS_A, Count
from armlet.graph.graph import Graph, Traced
from armlet.graph.program import Program, rebuilt, renewed
from armlet.graph.rewrite.rewriting import rewritten
from armlet.graph.rewrite.rules import PASSES
from armlet.graph.rewrite.share import shared

ORDER = (*PASSES, "sharing")
"""The passes in the order they are tried."""

WORTHWHILE = 0.01
"""What part of the operations a round of all passes must have saved for another one."""

Gains = list[tuple[str, Count]]
"""Passes that gained something, each with the count after it."""


def simplified(
    program: Program,
    weight: Mapping[str, float] = M_PLUS_A,
    order: Sequence[str] = ORDER,
    enough: Callable[[], bool] = bool,
) -> tuple[Program, Gains]:
    """The program in fewer operations, and what each pass gained.

    Parameters
    ----------
    program : Program
    weight : mapping of str to float
        What each operation counts, by its name.
    order : sequence of str
        The passes in the order they are tried.
    enough : callable
        Asked before each pass; once it is true, no more are tried. By default it never is.

    Examples
    --------
    >>> import armlet
    >>> program = armlet.trace(armlet.load("planar2r"), "forward_kinematics", "two_axes")
    >>> simplified(program)[1]
    [('angles', Count(M=4, A=4, functions=(('cos', 3), ('sin', 3))))]
    """
    steps: dict[str, Callable[[Program], Program]] = {
        name: partial(rewritten, identities=PASSES[name], weight=weight) for name in PASSES
    }
    steps["sharing"] = shared
    gains: Gains = []
    before = float("inf")
    while (cost := program.count().cost(weight)) < (1 - WORTHWHILE) * before:
        before = cost
        for name in order:
            if enough():
                break
            after = steps[name](program)
            if after.count().cost(weight) < program.count().cost(weight):
                program = after
                gains.append((name, program.count()))
    return (eager(program) if gains else program), gains


def eager(old: Program) -> Program:
    """The program with each operation right after the last of its operands.

    Rewriting leaves sums where their last term was used, which keeps so many values alive that a
    machine runs out of registers.
    """
    waits_for = {i: {a.index for a in args if isinstance(a, Traced)} for i, _, args in old.nodes}
    users: dict[int, list[int]] = {}
    for i, operands in waits_for.items():
        for k in operands:
            users.setdefault(k, []).append(i)
    graph = Graph()
    value: dict[int, Any] = {}

    new = partial(renewed, value)

    for start in old.live:
        ready = [start]
        while ready:
            i = ready.pop()
            if i in value:
                continue
            op, args = old.graph.nodes[i]
            value[i] = graph.copy(op, *map(new, args))
            for user in users.get(i, ()):
                waits_for[user].discard(i)
                if not waits_for[user]:
                    ready.append(user)
    return rebuilt(old, value)
