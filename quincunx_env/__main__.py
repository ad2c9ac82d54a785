"""What there is in this installation, and how to go on: ``python -m quincunx_env``."""

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from textwrap import fill

import quincunx_env
from quincunx_env.policies import registered_policies

WELCOME = """\
quincunx_env {version}, Python {python}, {libraries}

Environments
  gymnasium.make("Quincunx/Solitaire-v0")  the solitaire; gymnasium.make_vec plays many at once
  gymnasium.make("Quincunx/VsOpponents-v0", opponents=policy, num_players=2)
                                           one learner among opponents; game="spiral" for the other game
  quincunx_env.quincunx_v0.env()           Quincunx for two to four players, for PettingZoo
  quincunx_env.spiral_v0.env()             the spiral game for two players, for PettingZoo
  quincunx_env.envs.batched.BatchedGames   thousands of games for several players, turn by turn

Agents
{agents}

Extras
{extras}

Go on
  python -m quincunx_env.play              play, alone or against agents
  python -m quincunx_env.arena --help      measure policies
  python -c "help('quincunx_env')"         first lines of code
"""

CHECKOUT = """\
  make train                               watch an agent learn the solitaire
  README.md, RULES.md, docs/               everything else
"""


def main() -> None:
    """Print it."""
    agents = ", ".join(sorted(registered_policies()))
    text = WELCOME.format(
        version=quincunx_env.__version__,
        python=platform.python_version(),
        libraries=", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium", "pettingzoo")),
        agents=fill(
            agents or "those with short names come with a checkout; any policy is named as module:attribute",
            100,
            initial_indent="  ",
            subsequent_indent="  ",
            break_on_hyphens=False,
        ),
        extras="\n".join(_extras()),
    )
    print(text + CHECKOUT * bool(agents), end="")


def _extras() -> Iterator[str]:
    """For each extra whether it is installed, or how that is done."""
    missing: dict[str, list[str]] = {}
    try:
        asked = requires("quincunx_env") or []
    except PackageNotFoundError:
        yield "  unknown, because the package itself is not installed: pip install ."
        return
    for requirement in asked:
        library, extra = re.match(r"[\w.-]+", requirement), re.search(r"extra\s*==\s*['\"]([\w-]+)", requirement)
        if library and extra:
            missing.setdefault(extra[1], []).extend([] if _installed(library[0]) else [library[0]])
    for name, libraries in sorted(missing.items()):
        lacks = f'lacks {", ".join(libraries)}: pip install "quincunx_env[{name}]"'
        yield f"  {name:<10}{lacks if libraries else 'installed'}"


def _installed(library: str) -> bool:
    try:
        version(library)
    except PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
