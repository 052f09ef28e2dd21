"""Programs printed for a target: a table of operations, and a frame around it."""
