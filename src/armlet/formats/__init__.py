"""Read robots from files, tables and other packages, and write robot files."""
