"""Generated projects: sources with their own build and test."""
