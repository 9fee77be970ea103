"""``python -m soqo`` is the ``soqo`` command."""

from soqo._cli import main

if __name__ == "__main__":
    main()
