"""An arm whose names consist of markup and control characters."""

NAME = r"[/x] \u001b[31m\u009b2J\u202e :smile: */ ??/ \n <script>"
"""The name as it is written in a TOML file."""
ARM = f"""
name = "{NAME}"
source = "{NAME}"
gravity = [0, -9.81, 0]
angles = "radians"
base = "{NAME} base"
[[body]]
name = "{NAME} 1"
joint = "{NAME} 1"
mass = 1.0
com = [0.5, 0, 0]
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
[[body]]
name = "{NAME} 2"
joint = "{NAME} 2"
xyz = [1, 0, 0]
mass = 1.0
com = [0.5, 0, 0]
inertia = [0.1, 0, 0, 0.1, 0, 0.5]
"""
