"""Game trees as files, read again and compared with the engine."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from quincunx_env import Deal, Game, Rules
from quincunx_env.quincunx.cards import parse_card, parse_cards
from train.exact.tree import all_deals, write_efg

MINI = Rules(num_players=2, mini=True)
FACE_UP = "AM 4MS CL AV 5SV"
DEALS = all_deals(MINI, FACE_UP)
FEW = DEALS[::210]
SAME_HANDS = DEALS[:6]
"""The pile in every order."""


@dataclass
class Node:
    """A node of a file: its kind, its information set or payoffs, and what leads where."""

    kind: str
    information_set: tuple[int, int]
    chances: list[Fraction]
    payoffs: tuple[int, ...]
    children: dict[str, "Node"]


def read(lines: Iterator[str]) -> Node:
    """The tree below the next line; nodes come in prefix order."""
    line = next(lines)
    numbers = re.match(r'(c|p|t) "" (\d+) (\d*)', line)
    assert numbers
    kind, first, second = numbers.groups()
    braces = line[line.index("{") + 1 : line.index("}")]
    names = re.findall(r'"([^"]+)"', braces)
    chances = [Fraction(word) for word in re.findall(r'" (\d+(?:/\d+)?)', braces)]
    payoffs = tuple(map(int, braces.split())) if kind == "t" else ()
    own = (int(first), int(second)) if kind == "p" else (0, 0)
    return Node(kind, own, chances, payoffs, {name: read(lines) for name in names})


def tree_of(path: Path) -> Node:
    """The tree of a file, whose first line is a title."""
    with path.open(encoding="utf-8") as file:
        assert next(file).startswith("EFG 2 R ")
        return read(iter(file))


def nodes_of(node: Node) -> Iterator[Node]:
    """All nodes below and this one."""
    yield node
    for child in node.children.values():
        yield from nodes_of(child)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Node, list[tuple[int, int]]]:
    """The tree of a few deals, and the information sets in the order of visits, player and number."""
    path, visited = tmp_path_factory.mktemp("efg") / "mini.efg", list[tuple[int, int]]()
    nodes = write_efg(path, MINI, FEW, lambda number, game: visited.append((game.mover + 1, number)))
    tree = tree_of(path)
    assert sum(1 for _ in nodes_of(tree)) == nodes
    return tree, visited


@pytest.fixture
def tree(written: tuple[Node, list[tuple[int, int]]]) -> Node:
    """The tree."""
    return written[0]


def test_all_deals_are_different_and_fit() -> None:
    assert len(set(DEALS)) == len(DEALS) == 21 * 10 * 6
    for deal in FEW:
        deal.check(MINI)
        assert deal.face_up == parse_cards(FACE_UP)
    for wrong in ("AM", "2MK AV AL AY AK"):
        with pytest.raises(ValueError, match=f"5 cards of the deck for two players are needed, got '{wrong}'"):
            all_deals(MINI, wrong)
    with pytest.raises(ValueError, match="cards of the deck"):
        all_deals(Rules(mini=True), "AM 4MS CL AV")


def test_probabilities_and_payoffs_add_up(tree: Node) -> None:
    kinds = set()
    for node in nodes_of(tree):
        kinds.add(node.kind)
        if node.kind == "c":
            assert sum(node.chances) == 1
            assert len(node.chances) == len(node.children) > 1
        assert sum(node.payoffs) == 0
    assert kinds == {"c", "p", "t"}


@pytest.mark.parametrize("deal", FEW[::2], ids=str)
def test_every_play_is_that_of_the_engine(tree: Node, deal: Deal) -> None:
    """All plays of a deal: chance has what is dealt and drawn, the actions are the legal ones, the end is the same."""
    hands = [frozenset(hand) for hand in deal.hands]
    [root] = [
        child
        for name, child in tree.children.items()
        if [frozenset(parse_cards(hand)) for hand in name.split(" / ")] == hands
    ]
    ends = 0

    def follow(node: Node, game: Game) -> None:
        nonlocal ends
        if game.over:
            ends += 1
            assert node.payoffs == (game.totals[0] - game.totals[1], game.totals[1] - game.totals[0])
            return
        assert node.information_set[0] == game.mover + 1
        cells = [MINI.grid.place(cell) for cell in game.legal_cells()]
        names = [name.partition(" ") for name in node.children]
        assert [(parse_card(card), cell) for card, _, cell in names] == [
            (card, str(cell)) for card in game.legal_cards() for cell in cells
        ]
        plays = [(card, cell) for card in game.legal_cards() for cell in game.legal_cells()]
        for (card, cell), child in zip(plays, node.children.values(), strict=True):
            after = game.copy()
            after.play(card, cell)
            if child.kind == "c":
                drawn = frozenset(deal.pile[game.drawn : after.drawn])
                [child] = [other for name, other in child.children.items() if frozenset(parse_cards(name)) == drawn]
            follow(child, after)

    follow(root, Game(MINI, deal))
    assert ends > 50


@pytest.mark.parametrize("deals", [FEW, [*SAME_HANDS, FEW[1]]], ids=["hands", "piles"])
def test_seats_tell_positions_apart_by_what_they_have_observed_and_nothing_else(
    deals: list[Deal], tmp_path: Path
) -> None:
    """The number of an information set stands for one history of own cards and public plays, and conversely."""
    write_efg(tmp_path / "mini.efg", MINI, deals)
    tree = tree_of(tmp_path / "mini.efg")
    numbers: dict[tuple[object, ...], tuple[int, int]] = {}

    def follow(node: Node, seen: tuple[tuple[object, ...], ...], mover: int) -> None:
        if node.kind == "p":
            # The only card that may be drawn has no node of chance, but may then be played.
            cards = frozenset(name.partition(" ")[0] for name in node.children)
            seen = tuple((*own, cards) if seat == mover else own for seat, own in enumerate(seen))
            assert node.information_set[0] == mover + 1
            assert numbers.setdefault((mover, seen[mover]), node.information_set) == node.information_set
        for name, child in node.children.items():
            if node.kind == "p":
                after = tuple((*own, name) for own in seen)
                follow(child, after, mover if child.kind == "c" else 1 - mover)
            elif node is tree:
                follow(child, tuple((hand,) for hand in name.split(" / ")), 0)
            else:
                after = tuple((*own, name) if seat == mover else own for seat, own in enumerate(seen))
                follow(child, after, 1 - mover)

    follow(tree, ((), ()), 0)
    assert len(set(numbers.values())) == len(numbers) > 500


def test_draws_of_the_other_seat_are_no_part_of_an_information_set(tmp_path: Path) -> None:
    """Two deals that differ only in what a seat drew have one information set for the seat that moves next."""
    path, compared = tmp_path / "mini.efg", 0
    write_efg(path, MINI, SAME_HANDS)
    for play in nodes_of(tree_of(path)):
        for drawn in (child for child in play.children.values() if child.kind == "c"):
            following = [node.information_set for node in drawn.children.values() if node.kind == "p"]
            assert len({*following}) <= 1
            assert play.information_set not in following
            compared += len(following) > 1
    assert compared > 100


def test_each_information_set_is_visited_once(written: tuple[Node, list[tuple[int, int]]]) -> None:
    tree, visited = written
    assert visited == [*dict.fromkeys(node.information_set for node in nodes_of(tree) if node.kind == "p")]
    for seat in (1, 2):
        numbers = [number for player, number in visited if player == seat]
        assert numbers == [*range(1, len(numbers) + 1)]


@pytest.mark.parametrize(
    ("rules", "deals", "message"),
    [
        (Rules(mini=True), FEW, "one round of two players"),
        (Rules(2, mini=True, match=True), FEW, "one round of two players"),
        (Rules(2, mini=True, simpleton=True), FEW, "without Simpleton"),
        (MINI, [], "the same face-up cards"),
        (MINI, [FEW[0], Deal.from_seed(MINI, 0)], "the same face-up cards"),
    ],
)
def test_other_games_are_refused(rules: Rules, deals: list[Deal], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        write_efg(tmp_path / "mini.efg", rules, deals)
    assert not [*tmp_path.iterdir()]
