"""URDF: reading and writing."""
