"""The code blocks of the README and of the documentation."""

import re

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LIBRARY = re.compile(r"^import (torch|jax|casadi|pinocchio|fmpy)\b", re.MULTILINE)
"""What a block may need and need not be installed, besides viser for `armlet.view`."""
