"""Programs as functions of the arrays of JAX, PyTorch and CasADi.

None of them is needed to run armlet; where one is not installed, its tests are skipped.
"""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from support.expressions import expressions, near_a_jump, program_of, states
from support.robots import deviation

import armlet
from armlet.errors import CompileError, DataError
from armlet.graph import trace_function
from armlet.graph.evaluate import NAMESPACES

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")

QUANTITIES = ["bias", "inertia_matrix", "forward_dynamics", "jacobian", "energy", "linearization"]


class Jax:
    """JAX, in doubles."""

    def __init__(self):
        self.jax = pytest.importorskip("jax", reason="JAX is not installed")
        self.jax.config.update("jax_enable_x64", True)
        self.module, self.kind = self.jax.numpy, self.jax.Array

    def array(self, x):
        return self.module.asarray(x)

    def vmap(self, function):
        return self.jax.vmap(function)

    def jacobians(self, function):
        return self.jax.jacfwd(function), self.jax.jacrev(function)

    def gradient(self, function):
        return self.jax.grad(function)


class Torch:
    """PyTorch."""

    def __init__(self):
        self.module = pytest.importorskip("torch", reason="PyTorch is not installed")
        self.kind = self.module.Tensor

    def array(self, x):
        return self.module.tensor(x)

    def vmap(self, function):
        return self.module.func.vmap(function)

    def jacobians(self, function):
        def by_autograd(first, *others):
            return self.module.autograd.functional.jacobian(lambda x: function(x, *others), first)

        return self.module.func.jacfwd(function), self.module.func.jacrev(function), by_autograd

    def gradient(self, function):
        def gradient(first, *others):
            first = first.clone().requires_grad_()
            function(first, *others).backward()
            return first.grad

        return gradient


@pytest.fixture(scope="module", params=[Jax, Torch], ids=["jax", "torch"])
def arrays(request):
    return request.param()


@pytest.fixture(scope="module")
def casadi():
    return pytest.importorskip("casadi", reason="CasADi is not installed")


@pytest.fixture(scope="module")
def robot(arms):
    return arms["puma560"]


def state(program, *leading):
    rng = np.random.default_rng(1)
    return [rng.uniform(-2, 2, (*leading, *x.shape)) for x in program.inputs.values()]


def pairs(program, found, expected):
    if program.single:
        return [(found, expected)]
    assert type(found) is tuple
    return list(zip(found, expected, strict=True))


# ------------------------------------------------------------------ JAX and PyTorch


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=expressions(3), one=states(), batch=states(2, 3))
def test_an_expression_is_the_same_in_every_namespace(arrays, tree, one, batch):
    rows = [{name: x[index] for name, x in batch.items()} for index in np.ndindex(2, 3)]
    assume(not any(near_a_jump(tree, state) for state in (one, *rows)))
    program = program_of(tree)
    for given_ in (one.values(), batch.values()):
        found = program.function(arrays.module)(*map(arrays.array, given_))
        expected = program.function()(*given_)
        assert found.shape == expected.shape
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("leading", [(), (4,), (2, 3)])
def test_a_quantity_is_the_same_in_every_namespace(arrays, robot, quantity, leading):
    program = armlet.trace(robot, quantity)
    given_ = state(program, *leading)
    found = program.function(arrays.module)(*map(arrays.array, given_))
    for ours, theirs in pairs(program, found, program.function()(*given_)):
        assert isinstance(ours, arrays.kind)
        assert ours.shape == theirs.shape
        assert deviation(np.asarray(ours), theirs) <= 1e-11


def test_numpy_arrays_and_lists_are_taken_too(arrays, robot):
    program = armlet.trace(robot, "bias")
    function, given_ = program.function(arrays.module), state(program)
    expected = program.function()(*given_)
    for form, error in ((lambda x: x, 1e-12), (np.ndarray.tolist, 1e-4)):
        found = function(*map(form, given_))
        assert isinstance(found, arrays.kind)
        assert deviation(np.asarray(found), expected) <= error


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_stays(arrays, robot, dtype):
    program = armlet.trace(robot, "jacobian")
    (q,) = state(program)
    found = program.function(arrays.module)(arrays.array(q.astype(dtype)))
    assert str(found.dtype).endswith(dtype)


@pytest.mark.parametrize("quantity", ["bias", "inertia_matrix", "forward_dynamics"])
def test_derivatives_are_those_of_the_program(arrays, robot, quantity):
    program = armlet.trace(robot, quantity)
    given_ = state(program)
    expected = program.derivative("q").function()(*given_)
    for jacobian in arrays.jacobians(program.function(arrays.module)):
        found = jacobian(*map(arrays.array, given_))
        assert deviation(np.asarray(found), expected) <= 1e-10


def test_gradients_of_a_loss_are_those_of_the_program(arrays, robot):
    program = armlet.trace(robot, "bias")
    function, given_ = program.function(arrays.module), state(program)
    found = arrays.gradient(lambda *x: (function(*x) ** 2).sum())(*map(arrays.array, given_))
    tau, derivative = program.function()(*given_), program.derivative("q").function()(*given_)
    assert deviation(np.asarray(found), 2 * tau @ derivative) <= 1e-10


def test_mapped_over_rows_it_is_the_batch(arrays, robot):
    program = armlet.trace(robot, "energy")
    function, rows = program.function(arrays.module), [*map(arrays.array, state(program, 5))]
    for ours, theirs in zip(arrays.vmap(function)(*rows), function(*rows), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-12)


def test_derivatives_can_be_mapped(arrays, robot):
    program = armlet.trace(robot, "bias")
    rows = state(program, 5)
    expected = program.derivative("q").function()(*rows)
    for jacobian in arrays.jacobians(program.function(arrays.module))[:2]:
        found = arrays.vmap(jacobian)(*map(arrays.array, rows))
        assert deviation(np.asarray(found), expected) <= 1e-10


def test_jax_compiles_it(robot):
    jax = Jax().jax
    program = armlet.trace(robot, "inverse_dynamics")
    function, given_ = program.function(jax.numpy), state(program, 3)
    found = jax.jit(function)(*given_)
    assert deviation(found, program.function()(*given_)) <= 1e-12


SHAPES = {
    "constants alone": (lambda x: np.array([[1, 2.5]]), {"x": (2,)}),
    "constants among others": (lambda x: (np.array([x[0], 3]), np.array(0)), {"x": (2,)}),
    "an input": (lambda x: x, {"x": (2, 3)}),
    "no inputs": (lambda: np.array([1.5, 2]), {}),
    "nothing": (lambda x: (), {"x": (2,)}),
    "an empty array": (lambda x: (np.zeros((2, 0)), x), {"x": (2,)}),
    "a scalar of a scalar": (lambda x: np.array(x * x), {"x": ()}),
}


@pytest.mark.parametrize(("function", "inputs"), SHAPES.values(), ids=SHAPES)
def test_programs_of_any_shape_are_functions(arrays, function, inputs):
    program = trace_function("f", lambda graph, *args: function(*args), inputs)
    for leading in [(), (3,)] if inputs else [()]:
        given_ = state(program, *leading)
        found = program.function(arrays.module)(*map(arrays.array, given_))
        for ours, theirs in pairs(program, found, program.function()(*given_)):
            assert tuple(ours.shape) == theirs.shape
            assert np.asarray(ours).tolist() == theirs.tolist()


def test_an_array_that_does_not_fit_is_named(arrays, robot):
    function = armlet.trace(robot, "bias").function(arrays.module)
    q, long = arrays.array(np.zeros(6)), arrays.array(np.zeros(7))
    with pytest.raises(DataError, match=r"qd has shape \(7,\): expected \(..., 6\)"):
        function(q, long)
    with pytest.raises(DataError, match=r"qd has leading axes \(1,\), q has \(\)"):
        function(q, q[None])


# ------------------------------------------------------------------ CasADi


def dense(x):
    """A matrix of numbers as NumPy's."""
    return np.asarray(x.full())


def shaped(found, expected):
    """Found in the shape expected, which CasADi cannot always give it."""
    return dense(found).reshape(expected.shape)


def test_casadi_numbers_give_numbers(casadi, robot):
    for quantity in QUANTITIES:
        program = armlet.trace(robot, quantity)
        given_ = state(program)
        expected = program.function()(*given_)
        for form in (casadi.DM, np.asarray, list):
            found = program.function(casadi)(*map(form, given_))
            for ours, theirs in pairs(program, found, expected):
                assert isinstance(ours, casadi.DM)
                assert deviation(shaped(ours, theirs), theirs) <= 1e-11


def symbols(casadi, kind, program):
    return [
        getattr(casadi, kind).sym(name, *(*x.shape, 1, 1)[:2]) for name, x in program.inputs.items()
    ]


@pytest.mark.parametrize("kind", ["SX", "MX"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_casadi_symbols_give_expressions(casadi, robot, quantity, kind):
    program = armlet.trace(robot, quantity)
    given_, names = state(program), symbols(casadi, kind, program)
    found = program.function(casadi)(*names)
    outputs = [found] if program.single else [*found]
    assert all(isinstance(y, getattr(casadi, kind)) for y in outputs)
    values = casadi.Function("f", names, outputs).call(given_)
    expected = program.function()(*given_)
    for ours, theirs in zip(values, [expected] if program.single else expected, strict=True):
        assert deviation(shaped(ours, theirs), theirs) <= 1e-11


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_casadi_expressions_have_the_derivatives_of_the_program(casadi, robot, kind):
    program = armlet.trace(robot, "bias")
    given_, names = state(program), symbols(casadi, kind, program)
    derivative = casadi.jacobian(program.function(casadi)(*names), names[0])
    found = dense(casadi.Function("f", names, [derivative])(*given_))
    assert deviation(found, program.derivative("q").function()(*given_)) <= 1e-11


def test_in_a_graph_of_mx_a_program_is_one_node(casadi, robot):
    program = armlet.trace(robot, "inverse_dynamics")
    names = symbols(casadi, "MX", program)
    whole = casadi.Function("f", names, [2 * program.function(casadi)(*names)])
    assert whole.n_instructions() < 10


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=expressions(3), one=states())
def test_an_expression_is_the_same_in_casadi(casadi, tree, one):
    assume(not near_a_jump(tree, one))
    program = program_of(tree)
    found = dense(program.function(casadi)(*one.values()))
    np.testing.assert_allclose(found[:, 0], program.function()(*one.values()), rtol=1e-9, atol=1e-9)


def test_matrices_are_read_row_by_row(casadi):
    def run(graph, x, y):
        return 2 * x, np.array([x[0, 1], y[()]]), np.array(x[1, 2] - y), np.zeros((2, 0))

    program = trace_function("d f / d x", run, {"x": (2, 3), "y": ()})
    x = np.arange(6.0).reshape(2, 3)
    found = [dense(y).tolist() for y in program.function(casadi)(x, 7)]
    assert found == [(2 * x).tolist(), [[1], [7]], [[-2]], [[], []]]


def test_programs_without_inputs_are_functions_of_nothing(casadi):
    program = trace_function("f", lambda graph: np.array([1.5, 2]), {})
    (found,) = program.function(casadi).call([])
    assert dense(found).tolist() == [[1.5], [2]]


MISFITS = {
    "too long": ([np.zeros(6), np.zeros(7)], r"qd has shape \(7, 1\): expected \(6, 1\)"),
    "a number": ([0.0, np.zeros(6)], r"q has shape \(1, 1\): expected \(6, 1\)"),
    "a row": ([np.zeros((1, 6)), np.zeros(6)], r"q has shape \(1, 6\): expected \(6, 1\)"),
    "a batch": ([np.zeros((6, 3)), np.zeros((6, 3))], r"q has shape \(6, 3\): expected \(6, 1\)"),
}


@pytest.mark.parametrize(("args", "message"), MISFITS.values(), ids=MISFITS)
def test_a_matrix_that_does_not_fit_is_named(casadi, robot, args, message):
    with pytest.raises(DataError, match=message):
        robot.bias(*map(casadi.DM, args))


def test_a_program_is_a_casadi_function_with_names(casadi, robot):
    function = armlet.trace(robot, ["jacobian", "energy"]).function("casadi")
    assert isinstance(function, casadi.Function)
    assert function.name() == "jacobian_and_energy"
    assert function.name_in() == ["q", "qd"]
    assert function.name_out() == ["jacobian", "energy_kinetic", "energy_potential"]
    slope = armlet.trace(robot, "bias").derivative("q").function("casadi")
    assert (slope.name(), slope.name_out()) == ("d_bias_d_q", ["d_bias_d_q"])
    q = casadi.MX.sym("q", 6)
    assert robot.bias(q, q).shape == (6, 1)
    D, _, G = robot.cartesian_model(q, q)
    assert (D.shape, G.shape) == ((6, 6), (6, 1))


@pytest.mark.parametrize("library", NAMESPACES)
def test_a_library_is_given_by_name_or_as_a_module(arms, library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    program = armlet.trace(arms["planar2r"], "gravity_torque")
    q = [0.1, 0.2]
    if library == "torch":
        q = module.tensor(q)
    first, second = program.function(library)(q), program.function(module)(q)
    assert type(first) is type(second)
    assert np.array_equal(*(np.asarray(x).astype(float) for x in (first, second)))


def test_a_library_that_is_none_is_named():
    program = armlet.trace(armlet.load("planar2r"), "gravity_torque")
    for library, said in (("tensorflow", "'tensorflow'"), (pytest, "<module 'pytest"), (3, "3")):
        expected = f"library is {said}.*: expected one of {', '.join(NAMESPACES)}"
        with pytest.raises(DataError, match=expected):
            program.function(library)


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(CompileError, match="casadi cannot be imported"):
        armlet.trace(armlet.load("planar2r"), "gravity_torque").function("casadi")


def test_more_than_two_axes_are_refused(casadi, robot):
    derivative = armlet.trace(robot, "inertia_matrix").derivative("q")
    with pytest.raises(CompileError, match=r"\(6, 6, 6\): CasADi's have two axes at most"):
        derivative.function(casadi)


def test_symbolic_constants_have_no_value_in_arrays(arrays, robot):
    program = armlet.trace(robot, "bias", constants={"inertia": "symbolic"})
    with pytest.raises(CompileError, match="bias has symbolic constants"):
        program.function(arrays.module)


def test_symbolic_constants_have_no_value_in_casadi(casadi, robot):
    program = armlet.trace(robot, "bias", constants={"inertia": "symbolic"})
    with pytest.raises(CompileError, match="bias has symbolic constants"):
        program.function(casadi)
