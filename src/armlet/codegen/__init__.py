"""Code generation: lower programs to lists of operations, then print source code or LLVM IR."""
