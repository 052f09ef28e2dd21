"""From a request to its cheapest program, for one quantity or several."""
