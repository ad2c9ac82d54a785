"""Write game trees of two-player Quincunx in extensive form, for solvers of small games.

The format is the .efg file of Gambit (gambitproject.readthedocs.io, "The extensive game (.efg) file format"), which
OpenSpiel reads as ``efg_game``. The tree of the mini variant for given face-up cards has 300,000 to 500,000 nodes::

    from quincunx_env import Rules
    from train.exact.tree import all_deals, write_efg

    rules = Rules(num_players=2, mini=True)
    write_efg(Path("mini.efg"), rules, all_deals(rules, "AM 4MS CL AV 5SV"))
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

from quincunx_env.quincunx.cards import card_name, parse_cards, print_cards
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import write_atomically

Deals = Sequence[Deal]

Visit = Callable[[int, Game], object]


def all_deals(rules: Rules, face_up: str) -> list[Deal]:
    """List every deal with these face-up cards.

    The cards are in reading order of their cells. Hands are sets, piles are in any order.

    Raises:
        ValueError: if the cards are not as many different cards of the deck as lie face up, or the game is not for two
            players.
    """
    shown, size = parse_cards(face_up), rules.hand_size
    rest = [card for card in rules.deck if card not in shown]
    if rules.num_players != 2 or len(shown) + len(rest) != len(rules.deck) or len(shown) != len(rules.face_up_cells):
        raise ValueError(f"{len(rules.face_up_cells)} cards of the deck for two players are needed, got {face_up!r}")
    return [
        Deal(shown, (first, second), pile)
        for first in combinations(rest, size)
        for second in combinations([card for card in rest if card not in first], size)
        for pile in permutations(card for card in rest if card not in (*first, *second))
    ]


def write_efg(path: Path | str, rules: Rules, deals: Iterable[Deal], visit: Visit | None = None) -> int:
    """Write the tree of a round that has one of these deals.

    All deals are equally probable. Chance deals both hands, and a set of cards whenever a play draws. Information sets
    have perfect recall. Payoffs are margins, so that the game has zero sum.

    Args:
        path: of the file.
        rules: of two players, one round, without Simpleton.
        deals: all with the same face-up cards.
        visit: called at the first node of every information set, with its number and a game. Numbers are as in the
            file, from 1 on for each seat. Parts of the game that the seat to move does not see are arbitrary.

    Returns:
        Number of nodes.

    Raises:
        ValueError: for other rules, or deals that do not fit.
    """
    deals = [*deals]
    if rules.num_players != 2 or rules.num_rounds > 1 or rules.simpleton:
        raise ValueError(f"rules must be for one round of two players without Simpleton, got {rules}")
    if len({deal.face_up for deal in deals}) != 1:
        raise ValueError("the deals must have the same face-up cards")
    tree, count = _Tree(rules, visit), 0

    def write(unfinished: Path) -> None:
        nonlocal count
        with unfinished.open("w", encoding="utf-8") as file:
            title = f"Quincunx: {print_cards(deals[0].face_up)}"
            file.write(f'EFG 2 R "{title}" {{ "seat 0" "seat 1" }}\n')
            for line in tree.deal(deals):
                file.write(line + "\n")
                count += 1

    write_atomically(path, write)
    return count


class _Tree:
    """The nodes in prefix order, as lines of the file."""

    def __init__(self, rules: Rules, visit: Visit | None) -> None:
        self.rules, self.visit = rules, visit
        self.chances = self.outcomes = 0
        self.information_sets: tuple[dict[Any, int], ...] = ({}, {})

    def deal(self, deals: Deals) -> Iterator[str]:
        """Yield the root: chance deals the hands."""
        groups = _groups(deals, lambda deal: tuple(map(_set, deal.hands)))
        yield from self.chance({" / ".join(map(print_cards, hands)): len(same) for hands, same in groups.items()})
        for hands, same in groups.items():
            yield from self.state(Game(self.rules, same[0]), same, hands)

    def chance(self, outcomes: dict[str, int]) -> Iterator[str]:
        """Yield a node of chance, unless it has one outcome. ``outcomes`` has the number of deals by name."""
        if len(outcomes) > 1:
            self.chances += 1
            deals = sum(outcomes.values())
            drawn = " ".join(f'"{name}" {Fraction(count, deals)}' for name, count in outcomes.items())
            yield f'c "" {self.chances} "" {{ {drawn} }} 0'

    def state(self, game: Game, deals: Deals, seen: tuple[Any, ...]) -> Iterator[str]:
        """Yield a decision or the end. The game may have any of the deals; ``seen`` has each seat's observations."""
        if game.over:
            self.outcomes += 1
            margin = game.totals[0] - game.totals[1]
            yield f't "" {self.outcomes} "" {{ {margin} {-margin} }}'
            return
        sets, own = self.information_sets[game.mover], seen[game.mover]
        if own not in sets:
            sets[own] = len(sets) + 1
            if self.visit:
                self.visit(sets[own], game)
        plays = [(card, cell) for card in game.legal_cards() for cell in game.legal_cells()]
        names = " ".join(f'"{card_name(card)} {self.rules.grid.place(cell)}"' for card, cell in plays)
        yield f'p "" {game.mover + 1} {sets[own]} "" {{ {names} }} 0'
        for card, cell in plays:
            yield from self.play(game, deals, seen, card, cell)

    def play(self, game: Game, deals: Deals, seen: tuple[Any, ...], card: int, cell: int) -> Iterator[str]:
        """Yield a play: chance draws its cards."""
        (_, draws), top = game.value(card, cell), game.drawn
        groups = _groups(deals, lambda deal: _set(deal.pile[top : top + draws]))
        yield from self.chance({print_cards(drawn): len(same) for drawn, same in groups.items()})
        for drawn, same in groups.items():
            after = game.copy()
            after.stack(same[0].pile[top:])
            after.play(card, cell)
            now = ((before, card, cell, drawn if seat == game.mover else ()) for seat, before in enumerate(seen))
            yield from self.state(after, same, tuple(now))


def _set(cards: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(cards))


def _groups(deals: Deals, key: Callable[[Deal], Any]) -> dict[Any, list[Deal]]:
    """Group deals by the outcome of chance."""
    groups = defaultdict(list)
    for deal in deals:
        groups[key(deal)].append(deal)
    return groups
