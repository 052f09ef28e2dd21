"""Entry points, in LLVM IR, through which Python and XLA call the machine code of a kernel."""
