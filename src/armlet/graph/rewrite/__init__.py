"""Simplification: tables of identities and the passes that apply them."""
