"""Write the parts of the documentation that follow from the code: ``make docs``. A test keeps them up to date."""

from pathlib import Path

from quincunx_env import Observer, Rules, spiral
from quincunx_env.core.observation import Observer as AnyObserver
from quincunx_env.quincunx import FixedObserver

HERE = Path(__file__).parent

OBSERVATIONS = """\
# Observations

*Written by `make docs` from the observers of the games.*

An observation is a list of named pieces. `pieces` is a dictionary of them; `flat` is one int16 vector in which each
piece has its slice, in C order. `Observer.flatten` and `Observer.unflatten` turn one into the other without loss.
Seats are counted from the observing one: seat 0 is oneself, seat 1 plays next. Rounds, totals and seats are left out
where the rules leave them nothing to say. `env.unwrapped.observer.table()` prints the table of any environment.

Cards are the ids of `quincunx_env.quincunx.cards` and `quincunx_env.spiral.cards`; cells count from the top left, row
by row. `fixed_width=True` pads observations and actions of every form of Quincunx to four seats, 41 cards and the 81
cells of the open start, smaller grids in the middle, so that one network can play them all; `form` tells which it is.
"""

EXAMPLES: dict[str, AnyObserver] = {
    "Solitaire": Observer(Rules()),
    "Solitaire with the preview": Observer(Rules(), preview=True),
    "Solitaire with the extended deck": Observer(Rules(excuse=True, pawns=True)),
    "Two players from corners": Observer(Rules(num_players=2)),
    "Three players, open start, Simpleton, a match": Observer(
        Rules(num_players=3, start="open", simpleton=True, match=True)
    ),
    "Any form of Quincunx with fixed width": FixedObserver(Rules()),
    "The spiral game, two deals": spiral.Observer(spiral.Rules()),
    "The spiral game, a single deal, with the preview": spiral.Observer(spiral.Rules(deals=1), preview=True),
}


def pages() -> dict[Path, str]:
    """The generated pages, by path."""
    tables = (f"\n## {title}\n\n{observer.table()}\n" for title, observer in EXAMPLES.items())
    return {HERE / "observations.md": OBSERVATIONS + "".join(tables)}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
