"""Kernels on PyTorch tensors, with `vmap` and forward and reverse derivatives of any order."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from armlet.errors import DataError
from armlet.graph.signature import return_value
from armlet.libraries import is_nested, package_of
from armlet.runtime.arrays import ON_A_GPU, Computation, broadcast_mapped, extra_axes, unnested
from armlet.runtime.kernel import Kernel

transforms_are_active = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
"""Function of PyTorch that returns whether a transform of torch.func, such as vmap, is active."""
RECORDING = (torch._C._TorchDispatchModeKey.PROXY, torch._C._TorchDispatchModeKey.FAKE)
"""The dispatch modes in which PyTorch records operations."""
DTYPES = {"float64": torch.float64, "float32": torch.float32}


def evaluate(computation: Computation, arrays: Sequence[Any], threads: int) -> Any:
    """Evaluate a computation on tensors; return tensors that autograd can differentiate.

    A kernel converts tensors to its dtype; for other computations, the tensors decide the dtype.
    """
    if isinstance(computation, Kernel):
        return _run(computation, arrays, threads)
    return _run(computation.kernel_for(_dtype(arrays)), arrays, threads)


def _dtype(arrays: Sequence[Any]) -> str:
    """Return the common dtype of the floating-point tensors, else PyTorch's default dtype."""
    tensors = (x for x in unnested(arrays) if isinstance(x, torch.Tensor))
    dtypes = [x.dtype for x in tensors if x.is_floating_point()] or [torch.get_default_dtype()]
    name = str(reduce(torch.promote_types, dtypes)).removeprefix("torch.")
    if name not in DTYPES:
        raise DataError(f"the tensors are of torch.{name}: expected torch.float64 or torch.float32")
    return name


def _run(kernel: Kernel, arrays: Sequence[Any], threads: int) -> Any:
    program = kernel.program
    program.check_number(arrays)
    _check_unrecorded(program.name)
    tensors = [_tensor(name, x, kernel) for name, x in zip(program.inputs, arrays, strict=True)]
    compute = KernelFunction.apply if _is_tracked(tensors) else KernelFunction.forward
    return return_value(compute(kernel, threads, *tensors), program.single, program.names)


def _is_tracked(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether autograd has to record the call of a kernel; otherwise, calls skip autograd."""
    needed = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
    return needed or forward_ad._current_level >= 0 or transforms_are_active()


def _tensor(name: str, x: Any, kernel: Kernel) -> torch.Tensor:
    dtype = DTYPES[kernel.dtype.name]
    if not isinstance(x, torch.Tensor):
        if not is_nested(x) or package_of(x, ("torch",)) is None:
            return torch.from_numpy(np.array(kernel.array(name, x)))
        try:
            return torch.stack([_tensor(name, y, kernel) for y in x])  # keeps derivatives
        except RuntimeError as error:
            raise DataError(f"{name} is not an array of numbers: {error}") from None
    if x.dtype == dtype and x.is_cpu and x.layout == torch.strided:
        return x.resolve_neg()
    if x.device.type != "cpu":
        where = ON_A_GPU if x.device.type == "cuda" else "expected one on the CPU"
        raise DataError(f"{name} is a tensor on {x.device}: {where}")
    if x.layout != torch.strided:
        raise DataError(f"{name} is a tensor of layout {x.layout}: expected a dense one")
    if x.is_complex():
        raise DataError(f"{name} is a tensor of {x.dtype}: expected real numbers")
    return x.to(dtype).resolve_neg()


def _check_unrecorded(name: str) -> None:
    """Raise DataError if PyTorch is recording: it would record the results as constants."""
    if torch.jit.is_tracing() or any(torch._C._get_dispatch_mode(mode) for mode in RECORDING):
        raise DataError(
            f"{name} is called while PyTorch records operations (torch.func.linearize, make_fx, "
            "torch.export or torch.jit.trace), of which a kernel has none: expected a call outside "
            'of it, or Program.function("torch"), whose operations are PyTorch\'s'
        )


def _memory(x: torch.Tensor) -> np.ndarray[Any, Any]:
    try:
        return x.detach().numpy()
    except RuntimeError as error:
        raise DataError(
            f"a tensor has no place in memory ({error}): expected one with entries; to map over "
            "an axis use torch.func.vmap, not vectorize=True or is_grads_batched=True"
        ) from None


class KernelFunction(torch.autograd.Function):
    """PyTorch operation that evaluates a kernel, with derivatives by further kernels."""

    @staticmethod
    def forward(kernel: Kernel, threads: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Evaluate the kernel on NumPy views of the tensors; return one tensor per result."""
        arrays = map(_memory, tensors)
        results = kernel(*arrays) if threads == 1 else kernel.evaluate(*arrays, threads=threads)
        return tuple(map(torch.from_numpy, (results,) if kernel.program.single else results))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.kernel, ctx.threads, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the cotangents of the arguments, from the cotangents of the results."""
        tensors = ctx.saved_tensors
        derivatives = _run(ctx.kernel.vjp, (*tensors, *cotangents), ctx.threads)
        summed = (
            y.sum(axes) if (axes := extra_axes(x.shape, y.shape)) else y
            for x, y in zip(tensors, derivatives, strict=True)
        )
        return None, None, *summed

    @staticmethod
    def jvp(ctx: Any, *tangents: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        """Return the tangents of the results, from the tangents of the arguments."""
        tensors = ctx.saved_tensors
        full = (
            torch.zeros_like(x) if tangent is None else tangent
            for x, tangent in zip(tensors, tangents[2:], strict=True)
        )
        derivatives = _run(ctx.kernel.jvp, (*tensors, *full), ctx.threads)
        return (derivatives,) if ctx.kernel.program.single else tuple(derivatives)

    @staticmethod
    def vmap(
        info: Any,
        axes: tuple[int | None, ...],
        kernel: Kernel,
        threads: int,
        *tensors: torch.Tensor,
    ) -> tuple[Any, Any]:
        """Evaluate the kernel under `vmap`, with the mapped axis moved to the front."""
        inputs, places = kernel.program.inputs.values(), axes[2:]
        first = [x if k is None else x.movedim(k, 0) for x, k in zip(tensors, places, strict=True)]
        mapped = [k is not None for k in places]
        full = broadcast_mapped(inputs, first, mapped, info.batch_size, torch.broadcast_to)
        results = _run(kernel, full, threads)
        results = (results,) if kernel.program.single else tuple(results)
        return results, tuple(0 for _ in results)
