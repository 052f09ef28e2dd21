"""Kernels on JAX arrays, with `jit`, `vmap` and forward and reverse derivatives of any order.

A JAX primitive evaluates kernels; under `jit`, XLA calls the machine code of the kernel. The
derivative along tangents is the same primitive with the kernel of `Program.jvp`, which is linear in
the tangents. The transpose of this derivative is the primitive with the kernel of `Program.vjp`.
"""

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from armlet.errors import CompileError, DataError
from armlet.graph.signature import return_value
from armlet.libraries import is_nested
from armlet.runtime.arrays import ON_A_GPU, Computation, broadcast_mapped, extra_axes, unnested
from armlet.runtime.kernel import DTYPES, Kernel

REGISTERED: set[str] = set()
"""The names of functions that XLA may call until the process ends."""


def evaluate(computation: Computation, arrays: Sequence[Any], threads: int) -> Any:
    """Evaluate a computation on JAX arrays; return the results as JAX arrays.

    A kernel converts arrays to its dtype; for other computations, the arrays decide the dtype.
    """
    kernel = computation
    if not isinstance(kernel, Kernel):
        kernel = computation.kernel_for(_dtype(arrays))
    program = kernel.program
    program.check_number(arrays)
    if threads != 1:
        raise DataError(f"threads is {threads} with JAX arrays: expected 1")
    if kernel.dtype == np.float64 and not jax.config.jax_enable_x64:
        raise DataError(
            "the kernel is for float64, which JAX has switched off: expected a kernel with "
            'dtype="float32", or jax.config.update("jax_enable_x64", True)'
        )
    inputs = [_array(name, x, kernel) for name, x in zip(program.inputs, arrays, strict=True)]
    kernel.shapes([x.shape for x in inputs])
    results = kernel_p.bind(*_varying(inputs), kernel=kernel, transpose=None)
    return return_value(results, program.single, program.names)


def _dtype(arrays: Sequence[Any]) -> str:
    """Return JAX's common dtype of the arrays; integers count as JAX's default float dtype."""
    common = jnp.result_type(float, *(x for x in unnested(arrays) if isinstance(x, jax.Array)))
    if common.name not in DTYPES:
        raise DataError(f"the arrays are of {common.name}: expected {' or '.join(DTYPES)}")
    return str(common.name)


def _array(name: str, x: Any, kernel: Any) -> Any:
    try:
        array = jnp.asarray(x.tolist() if is_nested(x) and isinstance(x, np.ndarray) else x)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not an array of numbers: {error}") from None
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise DataError(f"{name} is an array of {array.dtype}: expected real numbers")
    return array.astype(kernel.dtype)


def _varying(arrays: Sequence[Any]) -> Sequence[Any]:
    """Mark all arrays as varying along each device axis along which at least one array varies."""
    own = [_device_axes(x.aval) for x in arrays]
    every = frozenset().union(*own)
    return [
        jax.lax.pcast(x, tuple(every - axes), to="varying") if every - axes else x
        for x, axes in zip(arrays, own, strict=True)
    ]


def _device_axes(aval: Any) -> frozenset[Any]:
    """Return the device axes along which an array varies: none outside `jax.shard_map`."""
    newer = getattr(aval, "manual_axis_type", aval)
    axes: frozenset[Any] = getattr(newer, "varying", getattr(aval, "vma", frozenset()))
    return axes


kernel_p = Primitive("armlet_kernel")
"""The JAX primitive that evaluates a kernel.

If the kernel is linear in its last arguments, `transpose` is the kernel of the transposed linear
map. It takes the other arguments of the kernel, followed by the cotangents of the results.
"""
kernel_p.multiple_results = True


@kernel_p.def_impl
def _evaluate_concrete(*arrays: Any, kernel: Any, transpose: Any) -> list[Any]:
    """Evaluate the kernel on concrete (not traced) arrays, which are read in place."""
    for name, x in zip(kernel.program.inputs, arrays, strict=True):
        devices = x.devices() if isinstance(x, jax.Array) else ()
        if any(device.platform != "cpu" for device in devices):
            raise DataError(f"{name} is an array on {', '.join(map(str, devices))}: {ON_A_GPU}")
    results = kernel.evaluate(*map(np.asarray, arrays))
    where = next((x.sharding for x in arrays if getattr(x, "committed", False)), None)
    if where is not None and len(where.device_set) > 1:
        where = None
    return [jax.device_put(y, where) for y in ((results,) if kernel.program.single else results)]


@kernel_p.def_abstract_eval
def _abstract(*avals: Any, kernel: Any, transpose: Any) -> list[Any]:
    _, shapes, _ = kernel.shapes([x.shape for x in avals])
    if not avals or not _device_axes(avals[0]):
        return [jax.core.ShapedArray(shape, kernel.dtype) for shape in shapes]
    mesh = avals[0].sharding.mesh
    return [
        avals[0].update(
            shape=shape,
            dtype=kernel.dtype,
            weak_type=False,
            sharding=NamedSharding(mesh, PartitionSpec(*[None] * len(shape))),
        )
        for shape in shapes
    ]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, kernel: Any, transpose: Any
) -> tuple[list[Any], list[Any]]:
    results = kernel_p.bind(*primals, kernel=kernel, transpose=transpose)
    full = map(ad.instantiate_zeros, tangents)
    derivatives = kernel_p.bind(*primals, *full, kernel=kernel.jvp, transpose=kernel.vjp)
    return results, derivatives


def _transpose(cotangents: Sequence[Any], *args: Any, kernel: Any, transpose: Any) -> list[Any]:
    """Return the cotangents of the linear arguments, and None for the other arguments."""
    if transpose is None:
        raise DataError(f"{kernel.program.name} is not linear: expected a function that is")
    count = len(transpose.program.outputs)
    fixed, linear = args[:-count], args[-count:]
    full = map(ad.instantiate_zeros, cotangents)
    results = kernel_p.bind(*fixed, *full, kernel=transpose, transpose=kernel)
    return [None] * len(fixed) + [
        y.sum(extra_axes(x.aval.shape, y.shape)) if ad.is_undefined_primal(x) else None
        for x, y in zip(linear, results, strict=True)
    ]


def _batch(
    args: Sequence[Any], axes: Sequence[int | None], *, kernel: Any, transpose: Any
) -> tuple[list[Any], list[int]]:
    """Evaluate the kernel under `vmap`, with the mapped axis moved to the front."""
    is_mapped = [axis is not None for axis in axes]
    first = [
        x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(args, axes, strict=True)
    ]
    size = next(x.shape[0] for x, moved in zip(first, is_mapped, strict=True) if moved)
    inputs = kernel.program.inputs.values()
    full = broadcast_mapped(inputs, first, is_mapped, size, jnp.broadcast_to)
    results = kernel_p.bind(*full, kernel=kernel, transpose=transpose)
    return results, [0] * len(results)


def _lower(context: Any, *args: Any, kernel: Any, transpose: Any) -> Any:
    leading, _, once = kernel.shapes([x.shape for x in context.avals_in])
    name, address = kernel.compiled(once).xla_function(prod(leading))
    if name not in REGISTERED:
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="cpu")
        REGISTERED.add(name)
    return jax.ffi.ffi_lowering(name)(context, *args)


def _refuse(context: Any, *args: Any, kernel: Any, transpose: Any) -> Any:
    platforms = ", ".join(context.module_context.platforms)
    raise CompileError(f"{kernel.program.name} is to be compiled for {platforms}: {ON_A_GPU}")


ad.primitive_jvps[kernel_p] = _jvp
ad.primitive_transposes[kernel_p] = _transpose
batching.primitive_batchers[kernel_p] = _batch
mlir.register_lowering(kernel_p, _refuse)
mlir.register_lowering(kernel_p, _lower, platform="cpu")
