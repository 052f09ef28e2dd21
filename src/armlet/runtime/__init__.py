"""Kernels: programs run as machine code, called from Python and cached on disk."""

from armlet.runtime.kernel import Kernel

__all__ = ["Kernel"]
