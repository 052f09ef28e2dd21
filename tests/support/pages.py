"""The code blocks of the README and of the documentation."""

import re

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LIBRARY = re.compile(r"^import (torch|jax|casadi|pinocchio|fmpy)\b", re.MULTILINE)
"""Optional packages that a block may import; `armlet.view` needs viser, too."""
