"""Libraries that are not installed with the package alone: its extras."""

from collections.abc import Iterator
from contextlib import contextmanager

KNOWN_AS = {
    "pyspiel": "OpenSpiel",
    "ray": "Ray",
    "sb3_contrib": "sb3-contrib",
    "stable_baselines3": "stable-baselines3",
    "torch": "PyTorch",
}
"""Names under which people know libraries, by the names of their modules."""


@contextmanager
def needs_extra(extra: str, feature: str) -> Iterator[None]:
    """Import libraries in this block, and name a missing extra.

    Args:
        extra: of ``quincunx_env``.
        feature: that needs it, the beginning of the message.

    Raises:
        ModuleNotFoundError: with the command that installs the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(missing_extra(error, extra, feature), name=error.name) from error


def missing_extra(error: ModuleNotFoundError, extra: str, feature: str) -> str:
    """Describe which library ``feature`` lacks, and the command that installs its extra."""
    library = (error.name or "").partition(".")[0]
    return f'{feature} needs {KNOWN_AS.get(library, library)}: pip install "quincunx_env[{extra}]"'
