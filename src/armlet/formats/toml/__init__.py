"""armlet's own format, in TOML: reading and writing, with numbers or names of constants."""
