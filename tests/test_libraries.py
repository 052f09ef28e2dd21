"""Kernels on the arrays of PyTorch and JAX: the same results, with derivatives.

Neither is needed to run armlet; where one is not installed, its tests are skipped.
"""

import os
import subprocess
import sys
import warnings
from types import ModuleType

import numpy as np
import pytest
from support.expressions import program_of
from support.robots import deviation

import armlet
from armlet import Kernel, libraries
from armlet.errors import CompileError, DataError

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")

QUANTITIES = ["inverse_dynamics", "forward_dynamics", "inertia_matrix", "energy", "regressor"]


@pytest.fixture(scope="module")
def robot(arms):
    return arms["puma560"]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(scope="module")
def jax():
    module = pytest.importorskip("jax", reason="JAX is not installed")
    module.config.update("jax_enable_x64", True)
    return module


def state(robot, quantity, *leading):
    rng = np.random.default_rng(1)
    names = armlet.QUANTITIES[quantity].arguments
    return [rng.uniform(-2, 2, (*leading, robot.nv)) for _ in names]


def own_function(robot):
    """A controller that reaches for a target with little torque."""

    @armlet.function(robot, target=3, limit=())
    def reach(q, qd, target, limit):
        X, Jq = robot.forward_kinematics(q), robot.jacobian(q)[3:]
        tau = robot.gravity_torque(q) + Jq.T @ (40 * (target - X[:3, 3]) - 4 * Jq @ qd)
        return limit * armlet.math.tanh(tau / limit)

    return reach, [
        *np.random.default_rng(2).uniform(-1, 1, (2, robot.nv)),
        np.ones(3),
        np.array(30.0),
    ]


def flat(found):
    return [*found] if isinstance(found, tuple) else [found]


# ------------------------------------------------------------------ the definition


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_products_with_derivatives_are_those_of_the_derivatives(robot, quantity):
    """Along directions, or for weights, what `Program.derivative` has in full."""
    program = armlet.trace(robot, quantity)
    given = state(robot, quantity)
    rng = np.random.default_rng(3)
    directions = [rng.uniform(-1, 1, x.shape) for x in given]
    weights = [rng.uniform(-1, 1, y.shape) for y in program.outputs]
    slopes = [flat(program.derivative(name).function()(*given)) for name in program.inputs]
    along = flat(program.jvp().function()(*given, *directions))
    for k, found in enumerate(along):
        expected = sum(slope[k] @ d for slope, d in zip(slopes, directions, strict=True))
        assert deviation(found, expected) < 1e-12
    for found, slope in zip(program.vjp().function()(*given, *weights), slopes, strict=True):
        expected = sum(np.tensordot(w, s, w.ndim) for w, s in zip(weights, slope, strict=True))
        assert deviation(found, expected) < 1e-12


def test_derivatives_of_derivatives_have_names_of_their_own(robot):
    program = armlet.trace(robot, "energy")
    for _ in range(3):
        assert len(set(program.inputs)) == len(program.inputs)
        found = program.vjp()
        assert list(program.inputs) == list(found.names)
        assert list(found.inputs)[: len(program.inputs)] == list(program.inputs)
        program = found
    assert len(armlet.trace(robot, "bias").jvp().jvp().inputs) == 8


def test_an_entry_that_is_returned_twice_counts_twice():
    program = program_of(("mul", ("input", "x", 0), ("input", "x", 0)), ("input", "x", 0))
    (double,) = program.outputs
    assert double.size == 2
    found = program.vjp().function()(*(np.array([3.0, 0, 0]), np.zeros(2)), np.array([10.0, 1.0]))
    assert found[0].tolist() == [61, 0, 0]


# ------------------------------------------------------------------ PyTorch


@pytest.mark.parametrize("leading", [(), (5,), (40,), (2, 3)])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_tensors_give_tensors_with_the_same_bits(torch, robot, quantity, leading):
    given = state(robot, quantity, *leading)
    method = getattr(robot, quantity)
    for found, expected in zip(
        flat(method(*map(torch.tensor, given))), flat(method(*given)), strict=True
    ):
        assert isinstance(found, torch.Tensor)
        assert found.dtype == torch.float64
        assert np.array_equal(found.numpy(), expected)


def test_the_dtype_of_tensors_is_that_of_the_result(torch, robot):
    given = [torch.tensor(x, dtype=torch.float32) for x in state(robot, "bias")]
    found = robot.bias(*given)
    assert found.dtype == torch.float32
    assert deviation(found.numpy(), Kernel(armlet.trace(robot, "bias"), "float32")(*given)) == 0
    assert robot.bias(given[0], given[1].double()).dtype == torch.float64
    assert robot.gravity_torque(torch.zeros(6, dtype=torch.int64)).dtype == torch.float32
    with pytest.raises(DataError, match=r"the tensors are of torch\.float16: expected torch"):
        robot.gravity_torque(torch.zeros(6, dtype=torch.float16))


def test_a_kernel_has_a_dtype_of_its_own(torch, robot):
    kernel = armlet.compile(robot, "gravity_torque")
    assert kernel(torch.zeros(6)).dtype == torch.float64


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_gradients_pass_pytorchs_check(torch, robot, quantity):
    given = [torch.tensor(x, requires_grad=True) for x in state(robot, quantity, 2)]
    method = getattr(robot, quantity)
    assert torch.autograd.gradcheck(method, given, check_forward_ad=True)
    one = [x[0].detach().requires_grad_() for x in given]
    assert torch.autograd.gradgradcheck(method, one)


def test_gradients_of_a_function_of_your_own_pass_pytorchs_check(torch, robot):
    reach, given = own_function(robot)
    tensors = [torch.tensor(x, requires_grad=True) for x in given]
    assert torch.autograd.gradcheck(reach, tensors, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(reach, tensors)


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_pytorch_maps_derivatives_over_rows(torch, robot, mode):
    given = [*map(torch.tensor, state(robot, "bias", 5))]
    jacobian = getattr(torch.func, mode)(robot.bias)
    expected = armlet.trace(robot, "bias").derivative("q").function()(*map(np.asarray, given))
    assert deviation(torch.func.vmap(jacobian)(*given).numpy(), expected) < 1e-12
    turned = torch.func.vmap(jacobian, in_dims=(1, 0))(given[0].T, given[1])
    assert deviation(turned.numpy(), expected) < 1e-12
    alone = torch.func.vmap(robot.bias, in_dims=(0, None))(given[0], given[1][0])
    expected = robot.bias(given[0], given[1][:1].expand(5, 6))
    assert np.array_equal(alone.numpy(), expected.numpy())


def test_what_is_given_once_collects_the_gradients_of_all_rows(torch, robot):
    kernel = armlet.compile(robot, "inverse_dynamics", constants={"inertia": "argument"})
    q, qd, qdd = (torch.tensor(x) for x in state(robot, "inverse_dynamics", 7))
    phi = torch.tensor(robot.phi, requires_grad=True)
    kernel(q, qd, qdd, phi).square().sum().backward()
    every = torch.tensor(robot.phi).repeat(7, 1, 1).requires_grad_()
    kernel(q, qd, qdd, every).square().sum().backward()
    assert deviation(phi.grad.numpy(), every.grad.sum(0).numpy()) < 1e-12
    mapped = torch.func.vmap(lambda p: kernel(q, qd, qdd, p))(torch.stack([phi, 2 * phi]))
    assert mapped.shape == (2, 7, 6)
    assert np.array_equal(mapped[0].detach().numpy(), kernel(q, qd, qdd, phi).detach().numpy())


def test_a_policy_is_trained_through_forward_dynamics(torch, arms):
    """The gradient of a roll-out's cost by a gain agrees with differences."""
    robot = arms["planar2r"]

    def cost(gain):
        q, qd = torch.tensor([0.5, -0.3], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
        for _ in range(50):
            tau = robot.gravity_torque(q) - gain * q - 2 * qd
            qd = qd + 0.01 * robot.forward_dynamics(q, qd, tau)
            q = q + 0.01 * qd
        return (q**2).sum()

    gain = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    cost(gain).backward()
    h = 1e-5
    assert gain.grad.item() == pytest.approx((cost(5 + h) - cost(5 - h)).item() / (2 * h), rel=1e-7)


def test_lists_and_arrays_are_taken_beside_tensors(torch, robot):
    q, qd = state(robot, "bias")
    expected = robot.bias(q, qd)
    entries = [torch.tensor(x, requires_grad=True) for x in q]
    found = robot.bias(entries, torch.tensor(qd))
    assert np.array_equal(found.detach().numpy(), expected)
    found.sum().backward()
    assert entries[1].grad is not None
    for other in (qd, qd.tolist()):
        assert np.array_equal(robot.bias(torch.tensor(q), other).numpy(), expected)
    assert np.array_equal(robot.bias(torch.tensor(q), torch.tensor(qd), threads=2), expected)


def test_nested_lists_of_tensors_carry_derivatives(torch, robot):
    (q,) = state(robot, "gravity_torque")
    own = armlet.function(robot)(lambda q: robot.gravity_torque(q))
    for call in (robot.gravity_torque, armlet.compile(robot, "gravity_torque"), own):
        entries = [torch.tensor(x, requires_grad=True) for x in q[:5]]
        found = call([[*entries, q[5]], (*entries, float(q[5]))])
        assert np.array_equal(found.detach().numpy(), [call(q)] * 2)
        found.sum().backward()
        expected = torch.tensor(q, requires_grad=True)
        (2 * call(expected).sum()).backward()
        assert deviation([x.grad for x in entries], expected.grad[:5].numpy()) < 1e-12


def test_subclasses_of_tensors_are_tensors(torch, robot):
    class Posture(torch.Tensor):
        pass

    (q,) = state(robot, "gravity_torque")
    for call in (robot.gravity_torque, armlet.compile(robot, "gravity_torque")):
        assert call(torch.tensor(q, requires_grad=True).as_subclass(Posture)).requires_grad


def test_arrays_that_pytorch_cannot_share_are_copied(torch, robot):
    q, qd = state(robot, "bias")
    expected = robot.bias(q, qd[::-1])
    assert np.array_equal(robot.bias(torch.tensor(q), qd[::-1]).numpy(), expected)
    fixed = qd[::-1].copy()
    fixed.flags.writeable = False
    with warnings.catch_warnings(action="error"):
        assert np.array_equal(robot.bias(torch.tensor(q), fixed).numpy(), expected)
    negated = torch.complex(*torch.tensor(np.array([qd, -qd[::-1]]))).conj().imag
    assert np.array_equal(robot.bias(torch.tensor(q), negated).numpy(), expected)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own
def test_kernels_are_not_recorded_as_constants(torch, robot):
    """Where PyTorch records operations, it would take results for numbers that never change."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def torque(q):
        return robot.gravity_torque(q)

    q = torch.rand(6, dtype=torch.float64)
    for record in (lambda: make_fx(torque)(q), lambda: torch.jit.trace(torque, q)):
        with pytest.raises(DataError, match="gravity_torque is called while PyTorch records"):
            record()
    with pytest.raises(DataError, match="gravity_torque is called while PyTorch records"):
        torch.func.linearize(torque, q)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own
def test_pytorch_compiles_what_is_around_a_call(torch, robot):
    pytest.importorskip("networkx", reason="networkx, which torch.compile needs, is not installed")
    q = torch.rand(6, dtype=torch.float64, requires_grad=True)

    def function(q):
        return robot.gravity_torque(2 * q).square().sum()

    compiled = torch.compile(function, backend="eager")
    for x in (q, q.detach()[None].requires_grad_()):
        assert torch.equal(compiled(x), function(x))
        slopes = [torch.autograd.grad(f(x), x)[0] for f in (compiled, function)]
        assert torch.equal(*slopes)


def test_a_result_is_never_written_again(torch, robot):
    q = torch.tensor(state(robot, "gravity_torque")[0])
    first = robot.gravity_torque(q)
    kept = first.clone()
    for k in range(5):
        robot.gravity_torque(q + k)
    assert torch.equal(first, kept)


def test_tensors_that_cannot_be_used_are_named(torch, robot):
    q = torch.zeros(6)
    with pytest.raises(DataError, match=r"qd has shape \(5,\): expected \(..., 6\)"):
        robot.bias(q, q[:5])
    with pytest.raises(DataError, match="q is a tensor on meta: expected one on the CPU"):
        robot.gravity_torque(q.to("meta"))
    with pytest.raises(DataError, match=r"q is a tensor of torch\.complex64: expected real"):
        robot.gravity_torque(q.to(torch.complex64))
    with pytest.raises(DataError, match="out is given with arrays of another library"):
        robot.gravity_torque(q, out=np.zeros(6))
    with pytest.raises(DataError, match="qd is not an array of numbers"):
        robot.bias(q, "qd")
    with pytest.raises(DataError, match="q is not an array of numbers: stack expects each tensor"):
        robot.gravity_torque([q, q[:5]])
    with pytest.raises(DataError, match=r"q is a tensor of layout torch\.sparse_coo: expected a"):
        robot.gravity_torque(q.to_sparse())
    with pytest.raises(DataError, match=r"bias takes 2 arrays \(q, qd\), got 1"):
        armlet.compile(robot, "bias")(q)
    jacobian = torch.autograd.functional.jacobian
    with pytest.raises(DataError, match=r"use torch\.func\.vmap"):
        jacobian(robot.gravity_torque, q, vectorize=True)


# ------------------------------------------------------------------ JAX


@pytest.mark.parametrize("leading", [(), (5,), (40,), (2, 3)])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_arrays_of_jax_give_the_same_bits_compiled_or_not(jax, robot, quantity, leading):
    given = state(robot, quantity, *leading)
    method = getattr(robot, quantity)
    for function in (method, jax.jit(method)):
        found = flat(function(*map(jax.numpy.asarray, given)))
        for ours, expected in zip(found, flat(method(*given)), strict=True):
            assert isinstance(ours, jax.Array)
            assert ours.dtype == np.float64
            assert np.array_equal(ours, expected)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_gradients_pass_jaxs_check(jax, robot, quantity):
    from jax.test_util import check_grads

    given = tuple(map(jax.numpy.asarray, state(robot, quantity)))
    check_grads(getattr(robot, quantity), given, order=2)


def test_gradients_of_a_function_of_your_own_pass_jaxs_check(jax, robot):
    from jax.test_util import check_grads

    reach, given = own_function(robot)
    check_grads(reach, tuple(map(jax.numpy.asarray, given)), order=2)


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("compiled", [False, True])
def test_jax_maps_derivatives_over_rows(jax, robot, mode, compiled):
    given = state(robot, "bias", 5)
    wrap = jax.jit if compiled else lambda f: f
    jacobian = getattr(jax, mode)(robot.bias)
    expected = armlet.trace(robot, "bias").derivative("q").function()(*given)
    assert deviation(wrap(jax.vmap(jacobian))(*given_to(jax, given)), expected) < 1e-12
    q, qd = given_to(jax, given)
    turned = wrap(jax.vmap(jacobian, in_axes=(1, 0)))(q.T, qd)
    assert deviation(turned, expected) < 1e-12
    alone = wrap(jax.vmap(robot.bias, in_axes=(0, None)))(q, qd[0])
    assert np.array_equal(alone, robot.bias(given[0], np.tile(given[1][0], (5, 1))))


def given_to(jax, arrays):
    return [*map(jax.numpy.asarray, arrays)]


def test_what_is_given_once_collects_the_gradients_of_all_rows_in_jax(jax, robot):
    kernel = armlet.compile(robot, "inverse_dynamics", constants={"inertia": "argument"})
    q, qd, qdd, phi = given_to(jax, [*state(robot, "inverse_dynamics", 20), robot.phi])

    def loss(phi):
        return (kernel(q, qd, qdd, phi) ** 2).sum()

    each = jax.jit(jax.grad(loss))(jax.numpy.tile(phi, (20, 1, 1)))
    assert deviation(jax.jit(jax.grad(loss))(phi), each.sum(0)) < 1e-12
    mapped = jax.vmap(lambda p: kernel(q, qd, qdd, p))(jax.numpy.stack([phi, 2 * phi]))
    assert mapped.shape == (2, 20, 6)
    assert np.array_equal(mapped[0], kernel(q, qd, qdd, phi))


def test_a_roll_out_in_a_loop_of_jax_is_that_of_numpy(jax, arms):
    robot = arms["planar2r"]

    def step(state, _):
        q, qd = state
        qd = qd + 0.01 * robot.forward_dynamics(q, qd, -q)
        q = q + 0.01 * qd
        return (q, qd), q

    def end(q):
        return jax.lax.scan(step, (q, jax.numpy.zeros(2)), length=100)[0][0]

    q, qd = np.array([0.5, -0.3]), np.zeros(2)
    for _ in range(100):
        qd = qd + 0.01 * robot.forward_dynamics(q, qd, -q)
        q = q + 0.01 * qd
    start = jax.numpy.array([0.5, -0.3])
    assert deviation(jax.jit(end)(start), q) < 1e-12
    forward, reverse = (jax.jit(f(end))(start) for f in (jax.jacfwd, jax.jacrev))
    assert deviation(forward, reverse) < 1e-12


def test_jax_without_doubles_runs_the_kernel_for_singles(jax, robot):
    given = [x.astype(np.float32) for x in state(robot, "bias", 3)]
    found = jax.jit(robot.bias)(*given_to(jax, given))
    assert found.dtype == np.float32
    assert np.array_equal(found, Kernel(armlet.trace(robot, "bias"), "float32")(*given))
    jax.config.update("jax_enable_x64", False)
    try:
        q = jax.numpy.zeros(6)
        assert robot.gravity_torque(q).dtype == np.float32
        with pytest.raises(DataError, match="float64, which JAX has switched off"):
            armlet.compile(robot, "gravity_torque")(q)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_nested_lists_of_jaxs_arrays_carry_derivatives(jax, robot):
    (q,) = state(robot, "gravity_torque")
    own = armlet.function(robot)(lambda q: robot.gravity_torque(q))
    for call in (robot.gravity_torque, armlet.compile(robot, "gravity_torque"), own):
        for wrap in (jax.jit, lambda f: f):
            found = wrap(lambda x: call([[*x], x]))(jax.numpy.asarray(q))  # noqa: B023
            assert isinstance(found, jax.Array)
            assert np.array_equal(found, [call(q)] * 2)
        gradient = jax.grad(lambda x: call([[*x], x]).sum())(jax.numpy.asarray(q))  # noqa: B023
        expected = 2 * jax.grad(lambda x: call(x).sum())(jax.numpy.asarray(q))  # noqa: B023
        assert deviation(gradient, expected) < 1e-12


def test_the_transpose_of_a_transpose_is_the_derivative(jax, robot):
    q, d = jax.numpy.asarray(np.random.default_rng(4).uniform(-1, 1, (2, 6)))
    _, back = jax.vjp(robot.gravity_torque, q)
    (found,) = jax.linear_transpose(lambda w: back(w)[0], q)(d)
    assert deviation(found, jax.jvp(robot.gravity_torque, (q,), (d,))[1]) < 1e-12
    with pytest.raises(DataError, match="gravity_torque is not linear: expected a function that"):
        jax.linear_transpose(robot.gravity_torque, q)(d)


ON_TWO_DEVICES = """
import armlet, jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P

jax.config.update("jax_enable_x64", True)
robot = armlet.load("planar2r")
kernel = armlet.compile(robot, "inverse_dynamics", constants={"inertia": "argument"})
q = jax.numpy.asarray(np.random.default_rng(1).uniform(-1, 1, (40, 2)))
phi = jax.numpy.asarray(robot.phi)
first, second = jax.devices()
assert robot.gravity_torque(jax.device_put(q, second)).devices() == {second}

def torque(q, phi):
    return kernel(q, q, q, phi)

states = P("d")
mesh = Mesh(np.array([first, second]), "d")
shared = jax.shard_map(torque, mesh=mesh, in_specs=(states, P()), out_specs=states)
for wrap in (jax.jit, lambda f: f):
    assert np.array_equal(wrap(shared)(q, phi), torque(q, phi))
    for k in (0, 1):
        found, expected = (
            wrap(jax.grad(lambda *x: (f(*x) ** 2).sum(), k))(q, phi) for f in (shared, torque)
        )
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
"""


def test_several_devices_share_the_rows(jax):
    if not hasattr(jax, "shard_map"):
        pytest.skip("this JAX has no jax.shard_map")
    two = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    found = subprocess.run(
        [sys.executable, "-c", ON_TWO_DEVICES],
        capture_output=True,
        text=True,
        env={**os.environ, **two},
        check=False,
    )
    assert found.returncode == 0, found.stderr


def test_singular_postures_of_arrays_of_jax_are_left(jax, robot):
    """NumPy's q beside them has a posture, but results of JAX cannot be written to."""
    found = robot.cartesian_model(np.zeros(6), jax.numpy.zeros(6))
    assert all(isinstance(y, jax.Array) for y in found)


def test_arrays_of_jax_that_cannot_be_used_are_named(jax, robot):
    q = jax.numpy.zeros(6)
    for wrap in (lambda f: f, jax.jit, jax.vmap):
        with pytest.raises(DataError, match=r"qd has shape \(5,\): expected \(..., 6\)"):
            wrap(robot.bias)(*(x if wrap is not jax.vmap else x[None] for x in (q, q[:5])))
    with pytest.raises(DataError, match="the arrays are of complex128: expected float64 or float"):
        robot.gravity_torque(q + 1j)
    with pytest.raises(DataError, match="q is an array of complex128: expected real numbers"):
        armlet.compile(robot, "gravity_torque")(q + 1j)
    with pytest.raises(DataError, match="out is given with arrays of another library"):
        robot.gravity_torque(q, out=np.zeros(6))
    with pytest.raises(DataError, match="threads is 2 with JAX arrays: expected 1"):
        robot.gravity_torque(q, threads=2)
    with pytest.raises(CompileError, match="gravity_torque is to be compiled for cuda: it is on a"):
        jax.jit(robot.gravity_torque).trace(q).lower(lowering_platforms=("cuda",))


# ------------------------------------------------------------------ GPUs


def test_arrays_on_a_gpu_are_refused(robot):
    class OnGpu:
        """What CuPy's and Numba's arrays have."""

        def __init__(self):
            self.__cuda_array_interface__ = {"shape": (6,), "typestr": "<f8", "data": (0, False)}

    for call in (robot.gravity_torque, armlet.compile(robot, "gravity_torque")):
        with pytest.raises(DataError, match=r"q .*: it is on a GPU, where armlet does not"):
            call(OnGpu())


# ------------------------------------------------------------------ the table


class Tagged:
    """An array of a library that armlet has not heard of."""

    def __init__(self, values):
        self.values = np.asarray(values, float)


def test_a_library_is_a_line_of_the_table_and_a_module(robot, monkeypatch):
    """Methods, user functions and kernels find it there."""
    module = ModuleType("armlet.runtime.arrays.tagged")

    def evaluate(computation, arrays, threads):
        kernel = computation.kernel_for("float64")
        return Tagged(kernel.evaluate(*(x.values for x in arrays), threads=threads))

    module.evaluate = evaluate
    monkeypatch.setitem(sys.modules, module.__name__, module)
    package = Tagged.__module__.partition(".")[0]
    monkeypatch.setitem(libraries.LIBRARIES, package, libraries.Library("numpy", "tagged"))
    q = np.linspace(0, 1, 6)
    expected = robot.gravity_torque(q)
    own = armlet.function(robot)(lambda q: robot.gravity_torque(q))
    for function in (robot.gravity_torque, own, armlet.compile(robot, "gravity_torque")):
        np.testing.assert_allclose(function(Tagged(q)).values, expected, rtol=1e-12, atol=1e-12)


def test_kernels_take_expressions_and_traced_arrays(robot):
    kernel = armlet.compile(robot, "gravity_torque")
    mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
    q = np.linspace(0, 1, 6)
    found = kernel(np.array([mpmath.mpf(x) for x in q]))
    np.testing.assert_allclose(found.astype(float), kernel(q), rtol=1e-12, atol=1e-12)
    doubled = armlet.function(robot)(lambda q: 2 * kernel(q))
    np.testing.assert_allclose(doubled(q), 2 * kernel(q), rtol=1e-12, atol=1e-12)
