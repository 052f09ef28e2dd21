"""Programs and loops as LLVM IR."""
