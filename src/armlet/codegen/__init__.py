"""Code generation: programs lowered to operations, and printed for a target."""
