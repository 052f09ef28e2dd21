"""Kernels on PyTorch's tensors, with derivatives in both modes, of any order, and `vmap`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from armlet.errors import DataError
from armlet.graph.signature import return_value
from armlet.runtime.arrays.libraries import ON_A_GPU, extra_axes, spread, unnested
from armlet.scalar import is_nested, package_of

transforms_are_active = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
"""Whether something is mapped or differentiated by torch.func, as PyTorch asks itself."""
RECORDING = (torch._C._TorchDispatchModeKey.PROXY, torch._C._TorchDispatchModeKey.FAKE)
"""How PyTorch records operations, as it asks itself."""
DTYPES = {"float64": torch.float64, "float32": torch.float32}


def dtype_of(arrays: Sequence[Any]) -> str:
    """The dtype that PyTorch would compute with; whole numbers are of its default."""
    found = None
    for x in unnested(arrays):
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            found = x.dtype if found is None else torch.promote_types(found, x.dtype)
    found = torch.get_default_dtype() if found is None else found
    for name, dtype in DTYPES.items():
        if dtype == found:
            return name
    raise DataError(f"the tensors are of {found}: expected torch.float64 or torch.float32")


def evaluated(kernel: Any, arrays: Sequence[Any], threads: int = 1) -> Any:
    """The results of a kernel as tensors that carry derivatives."""
    program = kernel.program
    program.check_number(arrays)
    _check_unrecorded(program.name)
    given = [_tensor(name, x, kernel) for name, x in zip(program.inputs, arrays, strict=True)]
    compute = Evaluation.apply if _is_followed(given) else Evaluation.forward
    return return_value(compute(kernel, threads, *given), program.single, program.names)


def _is_followed(given: Sequence[torch.Tensor]) -> bool:
    """Whether PyTorch has to know what is computed of tensors, which takes it some time."""
    asked = torch.is_grad_enabled() and any(x.requires_grad for x in given)
    return asked or forward_ad._current_level >= 0 or transforms_are_active()


def _tensor(name: str, x: Any, kernel: Any) -> torch.Tensor:
    dtype = DTYPES[kernel.dtype.name]
    if not isinstance(x, torch.Tensor):
        if not is_nested(x) or package_of(x, ("torch",)) is None:
            return torch.from_numpy(np.array(kernel.converted(name, x)))
        try:
            return torch.stack([_tensor(name, y, kernel) for y in x])  # with their derivatives
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
    """Raise if PyTorch records the operations on tensors: it would take results for constants."""
    if torch.jit.is_tracing() or any(torch._C._get_dispatch_mode(mode) for mode in RECORDING):
        raise DataError(
            f"{name} is called while PyTorch records operations (torch.func.linearize, make_fx, "
            "torch.export or torch.jit.trace), of which a kernel has none: expected a call outside "
            'of it, or Program.function("torch"), whose operations are PyTorch\'s'
        )


def _memory(x: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor as an array of NumPy's in the same place."""
    try:
        return x.detach().numpy()
    except RuntimeError as error:
        raise DataError(
            f"a tensor has no place in memory ({error}): expected one with entries; to map over "
            "an axis use torch.func.vmap, not vectorize=True or is_grads_batched=True"
        ) from None


class Evaluation(torch.autograd.Function):
    """A kernel as an operation of PyTorch's: its arguments are the kernel, threads and tensors."""

    @staticmethod
    def forward(kernel: Any, threads: int, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The results, computed on the memory of the tensors."""
        arrays = map(_memory, given)
        found = kernel(*arrays) if threads == 1 else kernel.evaluate(*arrays, threads=threads)
        results = (found,) if kernel.program.single else found
        return tuple(map(torch.from_numpy, results))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what derivatives depend on."""
        ctx.kernel, ctx.threads, *given = inputs
        ctx.save_for_backward(*given)
        ctx.save_for_forward(*given)

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The derivatives of the weighted results by every tensor."""
        given = ctx.saved_tensors
        found = evaluated(ctx.kernel.vjp, (*given, *weights), ctx.threads)
        summed = (
            y.sum(axes) if (axes := extra_axes(x.shape, y.shape)) else y
            for x, y in zip(given, found, strict=True)
        )
        return None, None, *summed

    @staticmethod
    def jvp(ctx: Any, *directions: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        """The derivatives of the results along directions of the tensors."""
        given = ctx.saved_tensors
        full = (
            torch.zeros_like(x) if d is None else d
            for x, d in zip(given, directions[2:], strict=True)
        )
        found = evaluated(ctx.kernel.jvp, (*given, *full), ctx.threads)
        return (found,) if ctx.kernel.program.single else tuple(found)

    @staticmethod
    def vmap(
        info: Any, axes: tuple[int | None, ...], kernel: Any, threads: int, *given: torch.Tensor
    ) -> tuple[Any, Any]:
        """The results where some tensors have an axis to be mapped: as one more leading axis."""
        inputs, places = kernel.program.inputs.values(), axes[2:]
        first = [x if k is None else x.movedim(k, 0) for x, k in zip(given, places, strict=True)]
        mapped = [k is not None for k in places]
        full = spread(inputs, first, mapped, info.batch_size, torch.broadcast_to)
        found = evaluated(kernel, full, threads)
        results = (found,) if kernel.program.single else tuple(found)
        return results, tuple(0 for _ in results)
