"""The search for the cheapest program of one quantity or of several."""
