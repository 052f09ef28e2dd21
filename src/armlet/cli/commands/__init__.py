"""The commands, one file each; `COMMANDS` in `armlet.cli` lists the commands."""
