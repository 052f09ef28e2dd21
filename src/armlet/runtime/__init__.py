"""Kernels: programs compiled to machine code, which is called from Python and cached on disk."""

from armlet.runtime.kernel import Kernel

__all__ = ["Kernel"]
