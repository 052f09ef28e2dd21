"""Simplification: every rule on random numbers and expressions, wrong rules among them.

The letters of a rule become inputs, constants become dyadic numbers, on which products and sums are
exact: fifty digits must then agree to forty.
"""

import itertools
import json
from inspect import signature

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from support.expressions import expressions, near_a_jump, program_of, value
from support.expressions import states as inputs

import armlet
from armlet.codegen.lower import expand_sines
from armlet.graph import ORDER, Count, Program, simplify, trace_function
from armlet.graph.rewrite.rewriting import rewrite
from armlet.graph.rewrite.rules import CONSTANTS, PASSES
from armlet.graph.rewrite.simplify import share_terms
from armlet.scalar import cos, sin

RULES = [
    pytest.param(identity, id=f"{name} {i}")
    for name, identities in PASSES.items()
    for i, identity in enumerate(identities)
]
WRONG = {
    "(x + y) - y = y": lambda x, y: ((x + y) - y, y),
    "k x + x = k x": lambda k, x: (k * x + x, k * x),
    "a b + a c = a (b - c)": lambda a, b, c: (a * b + a * c, a * (b - c)),
    "cos a cos b - sin a sin b = cos(a - b)": lambda a, b: (
        cos(a) * cos(b) - sin(a) * sin(b),
        cos(a - b),
    ),
    "sin a cos b + cos a sin b = cos(a + b)": lambda a, b: (
        sin(a) * cos(b) + cos(a) * sin(b),
        cos(a + b),
    ),
    "x x - y y = (x - y) (x - y)": lambda x, y: (x * x - y * y, (x - y) * (x - y)),
}


def of_constants(rule):
    """Whether a rule has no letter but those of constants."""
    (identity,) = rule.values
    return set(signature(identity).parameters) <= CONSTANTS


def dyadic(rng):
    return float(rng.integers(1, 64)) / 8


def holds(identity):
    """A rule states an identity, and rewriting by it changes no value, whatever the signs."""
    letters = list(signature(identity).parameters)
    rng = np.random.default_rng(0)
    with mpmath.workdps(50):
        for _ in range(5):
            left, right = identity(*(mpmath.mpf(dyadic(rng)) for _ in letters))
            assert abs(left - right) < 1e-40
        for signs in itertools.product((1, -1), repeat=len(letters)):
            before = in_a_sum(identity, signs, rng)
            after = rewrite(before, (identity,))
            at = [mpmath.mpf(dyadic(rng)) for _ in range(len(letters) + 2)]
            both = [program.function(mpmath)(np.array(at)) for program in (before, after)]
            assert max(abs(x - y) for x, y in zip(*both, strict=True)) < 1e-40


def in_a_sum(identity, signs, rng):
    """A program of the right side of a rule, then of a sum that has the left side in it."""
    letters = list(signature(identity).parameters)
    constants = [dyadic(rng) for _ in letters]
    inputs = {"x": (len(letters) + 2,)}

    def sides(x):
        values = [constants[i] if letter in CONSTANTS else x[i] for i, letter in enumerate(letters)]
        return identity(*(sign * value for sign, value in zip(signs, values, strict=True)))

    right_alone = trace_function(
        "right", lambda _, x: np.array([sides(x)[1]], dtype=object), inputs
    )

    def run(graph, x):
        (right,) = right_alone.replay(graph.copy)
        return np.array([right, (x[-1] * x[-2] + sides(x)[0]) - x[-1]], dtype=object)

    return trace_function("example", run, inputs)


@pytest.mark.parametrize("identity", RULES)
def test_every_rule_is_an_identity(identity):
    holds(identity)


@pytest.mark.parametrize("identity", WRONG.values(), ids=WRONG)
def test_a_wrong_rule_is_caught(identity):
    with pytest.raises(AssertionError):
        holds(identity)


@pytest.mark.parametrize("identity", [rule for rule in RULES if not of_constants(rule)])
def test_every_rule_is_applied_where_its_right_side_is_on_hand(identity):
    ones = [1] * len(signature(identity).parameters)
    before = in_a_sum(identity, ones, np.random.default_rng(1))
    assert rewrite(before, (identity,)).count().total < before.count().total


def test_constants_of_a_sum_meet():
    """The one rule of constants alone, whose sides are both off-line."""
    assert len([*filter(of_constants, RULES)]) == 1
    program = trace_function("sum", lambda _, x: np.array([(x[0] + 2) + (x[1] - 3)]), {"x": (2,)})
    assert rewrite(program, PASSES["constants"]).count() == Count(0, 2)


@settings(max_examples=300, deadline=None)
@given(expressions(5), expressions(4), expressions(4), inputs())
def test_a_simplified_program_gives_the_same_in_no_more_operations(one, two, three, state):
    assume(not any(near_a_jump(tree, state) for tree in (one, two, three)))
    program = program_of(one, ("add", one, two), ("sub", three, ("mul", two, one)))
    simpler, gains = simplify(program)
    assert simpler.count().total <= program.count().total
    assert {name for name, _ in gains} <= set(ORDER)
    assert [count.total for _, count in gains] == sorted((c.total for _, c in gains), reverse=True)
    expected = program.function(np)(*state.values())
    found = simpler.function(np)(*state.values())
    assert np.all(np.abs(found - expected) < 1e-9 * (1 + np.abs(expected)))
    assert np.isclose(expected[0], float(value(one, state)))


def test_sums_and_products_share_what_they_have_in_common():
    def run(_, x):
        a, b, c, d = x
        return np.array([(a + b) + c, (b + d) + c, -((c - d) + b), (a * b) * c, (c * d) * a])

    program = trace_function("sums", run, {"x": (4,)})
    assert share_terms(program).count() == Count(M=3, A=4)


def test_weights_decide_what_is_cheap():
    robot = armlet.load("puma560")
    cost = {
        minimize: armlet.trace(robot, "inverse_dynamics", minimize=minimize).count()
        for minimize in armlet.search.cheapest.WEIGHTS
    }
    assert cost["multiplications"].M <= cost["operations"].M
    assert cost["additions"].A <= cost["operations"].A
    assert cost["operations"].total == min(count.total for count in cost.values())
    with pytest.raises(armlet.ArmletError, match="minimize is 'weight': expected one of"):
        armlet.trace(robot, "inverse_dynamics", minimize="weight")


def test_a_stored_program_is_the_same_program():
    program = armlet.trace(armlet.load("puma560"), "energy", constants={"inertia": "symbolic"})
    again = Program.from_dict(json.loads(json.dumps(program.to_dict())))
    assert again.count() == program.count()
    assert (again.inputs, again.single) == (program.inputs, program.single)
    assert again.to_dict() == program.to_dict()


def test_sines_of_sums_are_products_where_those_of_the_parts_are_on_hand():
    def run(_, q):
        x, y = q
        return np.array([cos(x), sin(y), cos(x + y), sin(x - y), cos(2 * x + y)])

    program = trace_function("sines", run, {"q": (2,)})
    by_products = expand_sines(program)
    assert dict(by_products.count().functions) == {"cos": 3, "sin": 2}
    q = np.random.default_rng(0).normal(size=(20, 2))
    assert np.allclose(by_products.function(np)(q), program.function(np)(q), rtol=0, atol=1e-15)
