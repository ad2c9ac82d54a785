"""Files of games are replayed: true ones pass, and each change of a game or a figure is named."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_env.arena import Deals, Evaluation, Run, compare, evaluate, evaluate_all, tournament
from quincunx_env.arena import verification as module
from quincunx_env.arena.games import Games, LineupGames
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.arena.verification import VerificationError, verify
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral.rules import Rules as SpiralRules
from tests.arena.test_games import pack, unpack

pytest.importorskip("scipy.stats")

FIRST, DEALS = 5, 12
CONFIG = MatchConfig(Rules(), Deals(DEALS, first=FIRST), chunk=4)

Plays = list[tuple[list[int], int, bool]]
"""Actions, points, and whether the round was lost."""


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> Games:
    """The file of an evaluation of greedy."""
    path = tmp_path_factory.mktemp("verification") / "greedy.npz"
    evaluate("greedy", CONFIG.deals, run=Run(chunk=CONFIG.chunk, records=path))
    return Games.read(path)


def play(game: Game) -> tuple[list[int], int, bool]:
    """Play a game to its end: the first legal card, and the cell with most points."""
    actions = []
    while not game.over:
        card = game.legal_cards()[0]
        cell = max(game.legal_cells(), key=lambda cell: game.value(card, cell)[0])
        actions.append(card * game.rules.num_cells + cell)
        game.step(actions[-1])
    return actions, game.totals[0], game.lost


def games_of(records: Games) -> Plays:
    (lineup,) = records.lineups
    (result,) = verify(records)
    assert isinstance(result, Evaluation)
    actions = np.split(lineup.actions, lineup.starts[1:])
    return [
        (each.tolist(), int(points), bool(lost))
        for each, points, lost in zip(actions, result.scores, result.lost, strict=True)
    ]


def forged(games: Plays, config: MatchConfig = CONFIG) -> Games:
    """A file of these games, with figures computed from the points that it claims."""
    points, lost = np.array([each[1] for each in games]), np.array([each[2] for each in games])
    actions = np.array([action for each in games for action in each[0]], np.uint16)
    lengths = np.array([len(each[0]) for each in games])
    claims = Evaluation(points, lost).to_json()
    lineup = LineupGames(("greedy",), (0,), lengths, actions, points[:, None], lost, claims)
    return Games.from_bytes(Games(config, (lineup,)).to_bytes())


def score(games: Plays) -> Games:
    actions, points, lost = games[3]
    return forged([*games[:3], (actions, points + 20, lost), *games[4:]])


def deal(games: Plays) -> Games:
    """A game with the pile of deal 8 in another order."""
    cards = Deal.from_seed(Rules(), 8, domain="benchmark")
    return forged([*games[:3], play(Game(Rules(), Deal(cards.face_up, cards.hands, cards.pile[::-1]))), *games[4:]])


def action(games: Plays) -> Games:
    actions, points, lost = games[3]
    return forged([*games[:3], ([actions[1], *actions[1:]], points, lost), *games[4:]])


def no_action(games: Plays) -> Games:
    """A number beyond all actions of the game."""
    actions, points, lost = games[3]
    return forged([*games[:3], ([2**16 - 1, *actions[1:]], points, lost), *games[4:]])


def missing_game(games: Plays) -> Games:
    return forged([*games[:3], *games[4:]])


def one_game_more(games: Plays) -> Games:
    return forged([*games, games[-1]])


def repeated_game(games: Plays) -> Games:
    return forged([*games[:3], games[7], *games[4:]])


def unfinished_game(games: Plays) -> Games:
    actions, points, lost = games[3]
    return forged([*games[:3], (actions[:-1], points, lost), *games[4:]])


def empty_game(games: Plays) -> Games:
    return forged([*games[:3], ([], 0, False), *games[4:]])


def too_many_actions(games: Plays) -> Games:
    actions, points, lost = games[3]
    return forged([*games[:3], ([*actions, 0], points, lost), *games[4:]])


def lengths(games: Plays) -> Games:
    """The last action of a game counts as the first one of the next."""
    (actions, *end), (after, *its_end) = games[3:5]
    moved: Any = [(actions[:-1], *end), ([actions[-1], *after], *its_end)]
    return forged([*games[:3], *moved, *games[5:]])


def almost_the_figure(games: Plays) -> Games:
    """A difference that no table shows."""
    records = forged(games)
    (lineup,) = records.lineups
    claims = {**lineup.claims, "mean": lineup.claims["mean"] * (1 + 1e-6)}
    return dataclasses.replace(records, lineups=(dataclasses.replace(lineup, claims=claims),))


def lost_rounds(games: Plays) -> Games:
    """The points are right, but lost rounds count as finished."""
    return forged([(actions, points, False) for actions, points, _ in games])


def figures_of_lost_rounds(games: Plays) -> Games:
    """The games are right, but lost rounds count as finished in the figures."""
    (false,), (lineup,) = lost_rounds(games).lineups, forged(games).lineups
    return Games(CONFIG, (dataclasses.replace(lineup, claims=false.claims),))


def other_deals(games: Plays) -> Games:
    return forged(games, dataclasses.replace(CONFIG, deals=Deals(DEALS, first=FIRST + 1)))


def other_domain(games: Plays) -> Games:
    return forged(games, dataclasses.replace(CONFIG, deals=Deals(DEALS, "validation", FIRST)))


def other_rules(games: Plays) -> Games:
    return forged(games, dataclasses.replace(CONFIG, rules=Rules(flush=True, excuse=True)))


def fewer_deals(games: Plays) -> Games:
    return forged(games, dataclasses.replace(CONFIG, deals=Deals(DEALS - 1, first=FIRST)))


ILLEGAL = "play [0-9]+, .*, breaks the rules: .*"
FORGERIES: dict[Callable[[Plays], Games], str] = {
    score: "deal 8, the file claims 95 points, the game has 75 points",
    deal: f"deal 8, {ILLEGAL} it is not in the hand",
    action: f"deal 8, {ILLEGAL} it is not in the hand",
    no_action: "deal 8, play 1, 65535, breaks the rules: ",
    missing_game: "12 deals make 12 games, got 11",
    one_game_more: "12 deals make 12 games, got 13",
    repeated_game: f"deal 8, {ILLEGAL} it is not in the hand",
    unfinished_game: "deal 8, the game has not ended after its last play",
    empty_game: "deal 8, the game has not ended after its last play, number 0",
    too_many_actions: f"deal 8, {ILLEGAL}the game is over",
    lengths: "deal 8, the game has not ended after its last play",
    almost_the_figure: "the file claims mean .*, its games have",
    lost_rounds: "deal [0-9]+, the file claims lost=False, the game has lost=True",
    figures_of_lost_rounds: "the file claims mean .*, its games have",
    other_deals: f"deal 6, {ILLEGAL}",
    other_domain: f"deal 5, {ILLEGAL}",
    other_rules: f"deal 6, {ILLEGAL}",
    fewer_deals: "11 deals make 11 games, got 12",
}
"""Forgeries with valid checksums and figures, and the words of the message for each."""


def test_a_true_file(true: Games) -> None:
    (result,) = verify(true)
    assert result.to_json() == evaluate("greedy", CONFIG.deals).to_json()
    verify(forged(games_of(true)))  # the forgeries below start from it


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_forged_files_are_named(forge: Callable[[Plays], Games], true: Games) -> None:
    with pytest.raises(VerificationError, match=f"^greedy: {FORGERIES[forge]}"):
        verify(forge(games_of(true)))


def test_a_file_of_one_chunk_is_named(true: Games) -> None:
    with pytest.raises(VerificationError, match="the file has the games of chunk 1 alone"):
        verify(dataclasses.replace(true, part=1))


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"mean": "high"},
        {"lost_value": 10**400},
        {"lost_value": None},
        {"mean": 10**400},
        {"classes": []},
        {"ci95": [1]},
        {"more": 1},
    ],
)
def test_strange_claims(claims: dict[str, Any], true: Games) -> None:
    header, arrays = unpack(true.to_bytes())
    header["lineups"][0]["claims"] = header["lineups"][0]["claims"] | claims if claims else {}
    with pytest.raises(VerificationError):
        verify(Games.from_bytes(pack(header, arrays)))


def test_each_lineup_and_block_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deal that is named is the one of the changed game."""
    monkeypatch.setattr(module, "BLOCK", 5)
    evaluate_all(["greedy", "uniform"], Deals(12, first=FIRST), run=Run(records=tmp_path / "two.npz"))
    header, arrays = unpack((tmp_path / "two.npz").read_bytes())
    for game, lineup, number in (0, "greedy", 5), (11, "greedy", 16), (12, "uniform", 5), (19, "uniform", 12):
        totals = arrays["totals"].copy()
        totals[game] += 1
        with pytest.raises(VerificationError, match=f"^{lineup}: deal {number}, the file claims "):
            verify(Games.from_bytes(pack(header, arrays | {"totals": totals})))
    verify(Games.from_bytes(pack(header, arrays)))


# --- Several players -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hold", [compare, tournament])
@pytest.mark.parametrize("rules", [Rules(2), Rules(3, simpleton=True), SpiralRules(deals=1)], ids=str)
def test_changes_of_games_of_several_players(hold: Any, rules: Any, tmp_path: Path) -> None:
    """In the last game of the file."""
    hold(["greedy", "uniform"], 2, rules=rules, run=Run(records=tmp_path / "several.npz"))
    header, arrays = unpack((tmp_path / "several.npz").read_bytes())
    results = verify(Games.from_bytes(pack(header, arrays)))
    assert [each.figures() for each in results] == [each["claims"] for each in header["lineups"]]
    for name, change, fault in (
        ("totals", 1, "deal 1, the file claims "),
        ("actions", 1, "deal 1, "),
        ("lost", True, "deal 1, the file claims lost=True, the game has lost=False"),
    ):
        changed = arrays[name].copy()
        changed[-1] = changed[-1] | change if name == "lost" else changed[-1] + np.asarray(change, changed.dtype)
        with pytest.raises(VerificationError, match=fault):
            verify(Games.from_bytes(pack(header, arrays | {name: changed})))
    lengths = arrays["lengths"].copy()
    lengths[-1] -= 1
    shorter = {"lengths": lengths, "actions": arrays["actions"][:-1]}
    with pytest.raises(VerificationError, match=r"deal 1, the game has not ended after its last play"):
        verify(Games.from_bytes(pack(header, arrays | shorter)))
    for figure in ("margin", "win_rate", "even", "points", "name"):
        policy = header["lineups"][0]["claims"]["policies"][1]
        kept, policy[figure] = policy[figure], "other"
        with pytest.raises(VerificationError, match="the file claims policies "):
            verify(Games.from_bytes(pack(header, arrays)))
        policy[figure] = kept
    header["lineups"][0]["policies"].reverse()
    with pytest.raises(VerificationError, match="the file claims policies name 'greedy', its games have 'uniform'"):
        verify(Games.from_bytes(pack(header, arrays)))
