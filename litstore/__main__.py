"""`python -m litstore` is the command `litstore`."""

from litstore.apps.cli import main

if __name__ == "__main__":
    main()
