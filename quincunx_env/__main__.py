"""``python -m quincunx_env``: the command ``quincunx``."""

from quincunx_env.cli import main

if __name__ == "__main__":  # worker processes import this module, too
    main()
