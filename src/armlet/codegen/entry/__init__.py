"""Entry points from Python and XLA to machine code, compiled with the kernel."""
