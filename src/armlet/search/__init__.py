"""Search for the cheapest program of one or several quantities."""
