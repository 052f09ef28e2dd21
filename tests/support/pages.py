"""The code blocks of the README and of the documentation."""

import re

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LIBRARY = re.compile(r"^import (torch|jax|casadi|pinocchio|fmpy)\b", re.MULTILINE)
"""Import of an optional package in a block. (Blocks with `armlet.view` need viser.)"""
