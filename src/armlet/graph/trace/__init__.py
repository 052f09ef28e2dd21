"""Recording: arrays of traced scalars, calls within a trace, and what cannot be recorded."""
