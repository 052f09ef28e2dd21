"""Print programs and loops as LLVM IR."""
