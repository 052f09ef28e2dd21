"""Tracing: arrays of traced scalars, calls within a trace, and errors of untraceable functions."""
