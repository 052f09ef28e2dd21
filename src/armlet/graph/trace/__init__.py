"""Tracing: arrays of traced scalars, calls within a trace, and errors for untraceable functions."""
