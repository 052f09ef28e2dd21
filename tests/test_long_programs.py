"""Long programs, which are split into functions of a few hundred operations."""

import re
from contextlib import nullcontext
from time import process_time

import numpy as np
import pytest
from support.robots import random_robot, states

import armlet
from armlet.codegen.llvm import split
from armlet.codegen.llvm.function import Target
from armlet.codegen.lower import lower
from armlet.graph import trace_function
from armlet.graph.signature import Input
from armlet.runtime import Kernel, engine, threads

TARGETS = [
    pytest.param(Target(dtype, lanes, fuses), id=f"{dtype}-{lanes}{'' if fuses else '-unfused'}")
    for dtype, lanes in (("float64", 2), ("float64", 4), ("float32", 8))
    for fuses in (True, False)
]
every_target = pytest.mark.parametrize("target", TARGETS)


@pytest.fixture
def short_chunks(monkeypatch):
    """Every program is split, into chunks of a few operations."""
    monkeypatch.setattr(split, "OPERATIONS", 0)
    monkeypatch.setattr(split, "SIZE", 11)
    monkeypatch.setattr(split, "ANGLES", 3)


def same_bits(found, expected):
    assert found.dtype == expected.dtype
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


@every_target
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "inertia_matrix", "regressor"])
def test_a_split_program_gives_the_same_bits(quantity, target, request):
    robot = armlet.load("ur5e")
    program = armlet.trace(robot, quantity, next(iter(armlet.formulations(quantity))))
    rows = [x.astype(target.dtype) for x in states(robot, 37)[: len(program.inputs)]]
    whole = Kernel(program, target=target)
    expected = whole(*rows), whole(*(x[0] for x in rows))
    request.getfixturevalue("short_chunks")
    cut = Kernel(program, target=target)
    assert len(split.one_state_texts(cut.code, target)) > 1
    same_bits(cut(*rows), expected[0])
    same_bits(cut(*(x[0] for x in rows)), expected[1])


def test_angles_out_of_reach_give_the_same_bits(request):
    robot = armlet.load("ur5e")
    program = armlet.trace(robot, "gravity_torque", "newton_euler")
    q = states(robot, 33)[0] * 10.0 ** np.arange(1, 7)
    expected = Kernel(program)(q)
    request.getfixturevalue("short_chunks")
    cut = Kernel(program)
    same_bits(cut(q), expected)
    same_bits(np.array([cut(x) for x in q]), expected)


@every_target
def test_results_may_be_constants_inputs_and_what_is_given_once(target, short_chunks):
    """Entries that no chunk computes are written too; of few and of many entries."""

    def run(_, x, a):
        late = [x[k % 3] * a[k % 2] + k for k in range(40)]
        plain = [0.0, -0.0, 7.5, x[1], a[0], a[0] * a[1], x[2]]
        return np.array([*late, *plain], dtype=object), np.array(plain, dtype=object)

    program = trace_function("mixed", run, [Input("x", (3,)), Input("a", (2,), "once")])
    rng = np.random.default_rng(0)
    x = rng.normal(size=(21, 3)).astype(target.dtype)
    a = rng.normal(size=2).astype(target.dtype)
    many = Kernel(program, target=target)(x, a)
    ones = [Kernel(program, target=target)(row, a) for row in x]
    for k, output in enumerate(many):
        same_bits(output, np.array([one[k] for one in ones]))
    np.testing.assert_allclose(many[1], np.array([run(None, row, a)[1] for row in x], float), 1e-6)
    assert np.signbit(many[1][:, 1]).all()
    assert np.signbit(ones[0][1][1])


def test_the_arms_of_the_catalogue_are_not_cut():
    """Their code is what it was, and as fast."""
    for quantity in ("inertia_matrix", "regressor", "linearization", "state_space"):
        program = armlet.trace(
            armlet.load("panda"), quantity, next(iter(armlet.formulations(quantity)))
        )
        assert not split.is_long(lower(program))


def test_a_place_is_used_again_and_not_before_its_value_is_read(tmp_path):
    robot, _ = random_robot(tmp_path, 0, 12)
    code = lower(armlet.trace(robot, "forward_dynamics", "composite"))
    cut = split.chunks_of(code, 0, len(code.operations))
    assert [i for chunk in cut for run in chunk for i in run] == [*range(len(code.operations))]
    places, size = split.places_of(code, cut, ())
    assert size < len(places)
    holds = {}
    for chunk in cut:
        own = [i for run in chunk for i in run]
        for op, args in (code.operations[i] for i in own):
            for a in args if op != "input" else ():
                if isinstance(a, int) and a not in own and code.operations[a].op != "input":
                    assert holds[places[a]] == a
        holds |= {places[i]: i for i in own if i in places}


def lines_of_functions(text):
    return [
        body.count("\n") for body in re.findall(r"^define .*?^}", text, re.DOTALL | re.MULTILINE)
    ]


def test_no_function_of_a_forty_joint_robot_is_long(tmp_path):
    """Of the rows of its inertia matrix one function of 60,000 lines was made."""
    robot, _ = random_robot(tmp_path, 1, 40)
    code = lower(armlet.trace(robot, "inertia_matrix", "composite_bodies"))
    for functions in (split.one_state_texts, split.many_states_texts):
        texts = functions(code, Target())
        assert max(max(lines_of_functions(text)) for text in texts) < 4 * split.SIZE


def test_rows_of_a_forty_joint_robot_are_compiled_in_seconds(tmp_path, monkeypatch):
    """They take two; as one function they took 18, and minutes with vectors of eight."""
    monkeypatch.setenv("ARMLET_CACHE", "off")
    robot, _ = random_robot(tmp_path, 1, 40)
    program = armlet.trace(robot, "inertia_matrix", "composite_bodies")
    kernel, q = Kernel(program), states(robot, 40)[0]
    begun = process_time()
    H = kernel.evaluate(q)
    assert process_time() - begun < 10
    np.testing.assert_allclose(H[0], program.function(np)(q[0]), rtol=1e-9, atol=1e-9)


@pytest.fixture
def emitted(monkeypatch, tmp_path):
    """The texts that LLVM compiles, from an empty cache on."""
    monkeypatch.setenv("ARMLET_CACHE", str(tmp_path / "cache"))
    texts, emit = [], engine._emit
    monkeypatch.setattr(engine, "_emit", lambda *args: (texts.append(args[0]), emit(*args))[1])
    return texts


def test_what_was_compiled_before_an_interrupt_is_found_again(emitted, short_chunks, monkeypatch):
    program = armlet.trace(armlet.load("ur5e"), "bias", "newton_euler")
    state = np.ones((2, 6))
    whole = Kernel(program)
    expected = len(split.many_states_texts(whole.code, whole.target))
    build = engine._object

    def interrupted(text):
        if len(emitted) == 2:
            raise KeyboardInterrupt
        return build(text)

    rows = [np.tile(x, (9, 1)) for x in state]
    with monkeypatch.context() as patch:
        patch.setattr(threads, "LLVM_THREADS", threads.LLVM_THREADS[:1])
        patch.setattr(engine, "_object", interrupted)
        with pytest.raises(KeyboardInterrupt):
            whole.evaluate(*rows)
    assert len(emitted) == 2 < expected
    whole.evaluate(*rows)
    assert len(emitted) == expected


def test_progress_is_reported_chunk_by_chunk(emitted, short_chunks, monkeypatch):
    shares = []
    monkeypatch.setattr(engine, "advancing", lambda _: nullcontext(shares.append))
    kernel = Kernel(armlet.trace(armlet.load("ur5e"), "bias", "newton_euler"))
    kernel.evaluate(np.ones((9, 6)), np.ones((9, 6)))
    assert len(shares) == len(emitted) - 1 > 1
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] == 1


def test_jax_runs_the_chunks_too(short_chunks):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    kernel = Kernel(armlet.trace(armlet.load("ur5e"), "bias", "newton_euler"))
    rows = [*states(armlet.load("ur5e"), 9)[:2]]
    for given in (rows, [x[0] for x in rows]):
        found = jax.jit(lambda *x: kernel(*x))(*map(jax.numpy.asarray, given))
        same_bits(np.asarray(found), kernel(*given))
