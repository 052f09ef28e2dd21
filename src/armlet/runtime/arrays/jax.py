"""Kernels on JAX's arrays: `jit`, `vmap`, and derivatives in both modes, of any order.

A kernel is an operation of JAX's, which XLA calls as machine code. Its derivative along directions
is the kernel of `Program.jvp`, an operation that is linear in the directions; the transpose of that
is the kernel of `Program.vjp`.
"""

import ctypes
import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from armlet.codegen.entry.xla import xla_entry
from armlet.codegen.lower import lower
from armlet.errors import CompileError, DataError
from armlet.graph.signature import Shape, leading_axes, return_value
from armlet.runtime.arrays.libraries import ON_A_GPU, extra_axes, spread, unnested
from armlet.runtime.engine import Code, compiled
from armlet.scalar import is_nested

DTYPES = ("float64", "float32")
REGISTERED: dict[str, Code] = {}
"""The machine code that XLA knows by name, which it may call as long as the process lives."""


def dtype_of(arrays: Sequence[Any]) -> str:
    """The dtype that JAX would compute with; whole numbers are of its default."""
    found = jnp.result_type(float, *(x for x in unnested(arrays) if isinstance(x, jax.Array)))
    if found.name not in DTYPES:
        raise DataError(f"the arrays are of {found.name}: expected {' or '.join(DTYPES)}")
    return str(found.name)


def evaluated(kernel: Any, arrays: Sequence[Any], threads: int = 1) -> Any:
    """The results of a kernel as arrays of JAX's."""
    program = kernel.program
    program.check_number(arrays)
    if threads != 1:
        raise DataError(f"threads is {threads} with arrays of JAX: expected 1")
    if kernel.dtype == np.float64 and not jax.config.jax_enable_x64:
        raise DataError(
            "the kernel is for float64, which JAX has switched off: expected a kernel with "
            'dtype="float32", or jax.config.update("jax_enable_x64", True)'
        )
    given = [_array(name, x, kernel) for name, x in zip(program.inputs, arrays, strict=True)]
    leading_axes(program.inputs.values(), [x.shape for x in given])
    results = kernel_p.bind(*_varying(given), kernel=kernel, transpose=None)
    return return_value(results, program.single, program.names)


def _array(name: str, x: Any, kernel: Any) -> Any:
    try:
        array = jnp.asarray(x.tolist() if is_nested(x) and isinstance(x, np.ndarray) else x)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not an array of numbers: {error}") from None
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise DataError(f"{name} is an array of {array.dtype}: expected real numbers")
    return array.astype(kernel.dtype)


def _varying(arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays that all vary along the same axes of the devices, as far as some do."""
    own = [_axes_of_devices(x.aval) for x in arrays]
    every = frozenset().union(*own)
    return [
        jax.lax.pcast(x, tuple(every - axes), to="varying") if every - axes else x
        for x, axes in zip(arrays, own, strict=True)
    ]


def _axes_of_devices(kind: Any) -> frozenset[Any]:
    """The axes of the devices along which an array varies, within `jax.shard_map` alone."""
    newer = getattr(kind, "manual_axis_type", kind)
    found: frozenset[Any] = getattr(newer, "varying", getattr(kind, "vma", frozenset()))
    return found


kernel_p = Primitive("armlet_kernel")
"""The operation: its arguments are the kernel's.

If it is linear in the last of them, `transpose` is the kernel of its transpose, which has the same
arguments before those, and then the weights of its results.
"""
kernel_p.multiple_results = True


def _shapes(kernel: Any, shapes: Sequence[Shape]) -> tuple[list[Shape], frozenset[str]]:
    """The shapes of the results, and which inputs are given once for all states."""
    inputs = kernel.program.inputs.values()
    leading, own = leading_axes(inputs, shapes)
    once = (x.name for x, axes in zip(inputs, own, strict=True) if x.rate == "once" and not axes)
    return [(*leading, *y.shape) for y in kernel.program.outputs], frozenset(once)


@kernel_p.def_impl
def _now(*given: Any, kernel: Any, transpose: Any) -> list[Any]:
    """The results of arrays that are there, computed on their memory."""
    for name, x in zip(kernel.program.inputs, given, strict=True):
        devices = x.devices() if isinstance(x, jax.Array) else ()
        if any(device.platform != "cpu" for device in devices):
            raise DataError(f"{name} is an array on {', '.join(map(str, devices))}: {ON_A_GPU}")
    found = kernel.evaluate(*map(np.asarray, given))
    where = next((x.sharding for x in given if getattr(x, "committed", False)), None)
    if where is not None and len(where.device_set) > 1:
        where = None
    return [jax.device_put(y, where) for y in ((found,) if kernel.program.single else found)]


@kernel_p.def_abstract_eval
def _abstract(*given: Any, kernel: Any, transpose: Any) -> list[Any]:
    shapes, _ = _shapes(kernel, [x.shape for x in given])
    if not given or not _axes_of_devices(given[0]):
        return [jax.core.ShapedArray(shape, kernel.dtype) for shape in shapes]
    mesh = given[0].sharding.mesh
    return [
        given[0].update(
            shape=shape,
            dtype=kernel.dtype,
            weak_type=False,
            sharding=NamedSharding(mesh, PartitionSpec(*[None] * len(shape))),
        )
        for shape in shapes
    ]


def _jvp(
    given: Sequence[Any], directions: Sequence[Any], *, kernel: Any, transpose: Any
) -> tuple[list[Any], list[Any]]:
    results = kernel_p.bind(*given, kernel=kernel, transpose=transpose)
    full = map(ad.instantiate_zeros, directions)
    moved = kernel_p.bind(*given, *full, kernel=kernel.jvp, transpose=kernel.vjp)
    return results, moved


def _transposed(weights: Sequence[Any], *given: Any, kernel: Any, transpose: Any) -> list[Any]:
    """Weights of the results as weights of the arguments in which the operation is linear."""
    if transpose is None:
        raise DataError(f"{kernel.program.name} is not linear: expected a function that is")
    count = len(transpose.program.outputs)
    fixed, linear = given[:-count], given[-count:]
    full = map(ad.instantiate_zeros, weights)
    found = kernel_p.bind(*fixed, *full, kernel=transpose, transpose=kernel)
    return [None] * len(fixed) + [
        y.sum(extra_axes(x.aval.shape, y.shape)) if ad.is_undefined_primal(x) else None
        for x, y in zip(linear, found, strict=True)
    ]


def _mapped(
    given: Sequence[Any], axes: Sequence[int | None], *, kernel: Any, transpose: Any
) -> tuple[list[Any], list[int]]:
    """The results where some arrays have an axis to be mapped: as one more leading axis."""
    is_mapped = [axis is not None for axis in axes]
    first = [
        x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(given, axes, strict=True)
    ]
    size = next(x.shape[0] for x, moved in zip(first, is_mapped, strict=True) if moved)
    inputs = kernel.program.inputs.values()
    full = spread(inputs, first, is_mapped, size, jnp.broadcast_to)
    results = kernel_p.bind(*full, kernel=kernel, transpose=transpose)
    return results, [0] * len(results)


def _compiled(context: Any, *given: Any, kernel: Any, transpose: Any) -> Any:
    """The call of the kernel's machine code from what XLA compiles."""
    shapes, once = _shapes(kernel, [x.shape for x in context.avals_in])
    leading = shapes[0][: len(shapes[0]) - kernel.program.outputs[0].ndim]
    name = _registered(kernel, once, int(np.prod(leading)) >= kernel.target.lanes)
    return jax.ffi.ffi_lowering(name)(context, *given)


def _registered(kernel: Any, once: frozenset[str], at_once: bool) -> str:
    """The name under which XLA knows a kernel; by its content, so that it means the same later."""
    text, pieces = xla_entry(lower(kernel.program, once), kernel.target, at_once)
    name = f"armlet_{hashlib.sha256(''.join([text, *pieces]).encode()).hexdigest()[:32]}"
    if name not in REGISTERED:
        code = compiled(text, "xla", pieces=pieces)
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(code.addresses["xla"])
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="cpu")
        REGISTERED[name] = code
    return name


def _elsewhere(context: Any, *given: Any, kernel: Any, transpose: Any) -> Any:
    platforms = ", ".join(context.module_context.platforms)
    raise CompileError(f"{kernel.program.name} is to be compiled for {platforms}: {ON_A_GPU}")


ad.primitive_jvps[kernel_p] = _jvp
ad.primitive_transposes[kernel_p] = _transposed
batching.primitive_batchers[kernel_p] = _mapped
mlir.register_lowering(kernel_p, _elsewhere)
mlir.register_lowering(kernel_p, _compiled, platform="cpu")
