"""Search for the program of least cost that computes one or several quantities of a robot.

The cost is a weighted number of operations.
"""
