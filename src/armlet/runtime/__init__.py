"""Programs as machine code: kernels, the fast call, the cache."""

from armlet.runtime.kernel import Kernel

__all__ = ["Kernel"]
