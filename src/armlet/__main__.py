"""Run the command line by `python -m armlet`."""

from armlet.cli import main

if __name__ == "__main__":
    main()
