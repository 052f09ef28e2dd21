"""python -m armlet: the command line."""

from armlet.cli import main

if __name__ == "__main__":
    main()
