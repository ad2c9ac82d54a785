"""Files of games are replayed: true ones pass, forged ones are named, and a policy is asked again."""

import dataclasses
import math
import re
from collections.abc import Callable, Collection
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env.arena import Evaluation, compare, evaluate, evaluate_all, tournament
from quincunx_env.arena.games import Games, LineupGames
from quincunx_env.arena.matches import MatchConfig, MatchResults, play_matches
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from quincunx_env.submissions.reruns import draw, rerun
from quincunx_env.submissions.verification import VerificationError, verify
from tests.arena.test_comparison import first_legal
from tests.arena.test_games import seal, unseal

pytest.importorskip("scipy.stats")

FIRST, DEALS = 5, 12
CONFIG = MatchConfig(Rules(), "benchmark", FIRST, DEALS, seed=0, chunk=4)

Plays = list[tuple[list[int], int, bool]]
"""Actions, points, and whether the round was lost."""


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> Games:
    """The file of an evaluation of greedy."""
    path = tmp_path_factory.mktemp("verification") / "greedy.npz"
    evaluate("greedy", DEALS, first=FIRST, chunk=CONFIG.chunk, records=path)
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
    """A file of these games whose figures are those of the points that it claims."""
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


def missing_game(games: Plays) -> Games:
    return forged([*games[:3], *games[4:]])


def repeated_game(games: Plays) -> Games:
    return forged([*games[:3], games[7], *games[4:]])


def unfinished_game(games: Plays) -> Games:
    actions, points, lost = games[3]
    return forged([*games[:3], (actions[:-1], points, lost), *games[4:]])


def too_many_actions(games: Plays) -> Games:
    actions, points, lost = games[3]
    return forged([*games[:3], ([*actions, 0], points, lost), *games[4:]])


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


FORGERIES: dict[Callable[[Plays], Games], str] = {
    score: "deal 8, the file claims 95 points, the game has 75 points",
    deal: "deal 8, play [0-9]+ is illegal: .* it is not in the hand",
    action: "deal 8, play 2 is illegal: .* it is not in the hand",
    missing_game: "11 games of 12, one of deal 8 is missing",
    repeated_game: "deal 8, play 1 is illegal: .* it is not in the hand",
    unfinished_game: "deal 8, the game has not ended after its last play",
    too_many_actions: "deal 8, play [0-9]+ is illegal: the game has ended",
    almost_the_figure: "the file claims mean .*, its games have",
    lost_rounds: "deal [0-9]+, the file claims lost=False, the game has lost=True",
    figures_of_lost_rounds: "the file claims mean .*, its games have",
}
"""What each function forges, all checksums and figures included, and how the message names it."""


def test_a_true_file(true: Games) -> None:
    (result,) = verify(true)
    assert result.to_json() == evaluate("greedy", DEALS, first=FIRST).to_json()
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
    ],
)
def test_strange_claims(claims: dict[str, Any], true: Games) -> None:
    header, arrays = unseal(true.to_bytes())
    header["lineups"][0]["claims"] = header["lineups"][0]["claims"] | claims if claims else {}
    with pytest.raises(VerificationError):
        verify(Games.from_bytes(seal(header, arrays)))


@pytest.mark.parametrize("players", [1, 2, 3])
def test_an_incomplete_tournament_is_refused(players: int, tmp_path: Path) -> None:
    """Each pair is there once, for three players in both orders; an evaluation has each policy once."""
    path = tmp_path / "held.npz"
    names = ["greedy", "uniform", "other=quincunx_agents.uniform:uniform"]
    hold: Any = evaluate_all if players == 1 else tournament
    hold(names, 2, rules=Rules(num_players=players), records=path)
    records = Games.read(path)
    first, *others = records.lineups
    verify(records)
    verify(dataclasses.replace(records, lineups=(*others[::-1], first)))
    with pytest.raises(VerificationError, match=f"^the file has the games of {first} twice$"):
        verify(dataclasses.replace(records, lineups=(first, *others, first)))
    if players > 1:
        with pytest.raises(VerificationError, match=f"^the games of {first} are missing in the tournament$"):
            verify(dataclasses.replace(records, lineups=(*others,)))
        swapped = dataclasses.replace(first, policies=first.policies[::-1])
        with pytest.raises(VerificationError, match=r"twice$"):
            verify(dataclasses.replace(records, lineups=(first, *others, swapped)))
        with pytest.raises(VerificationError, match="greedy against uniform: a tournament has lineups of one policy"):
            verify(
                dataclasses.replace(
                    records,
                    lineups=(dataclasses.replace(first, policies=("greedy", "uniform"), seats=(0,) * players), *others),
                )
            )


# --- Asking the policy again -----------------------------------------------------------------------------------------


class KnowsThePile:
    """Plays the same numbered deals beside those of the arena, and so sees the cards that each play draws: it
    takes the play with most points together with those of the best next one.
    """

    def __init__(self, config: MatchConfig) -> None:
        self.observer = Observer(Rules(), preview=True)
        self.games = Batch(Rules(), config.deals, config.domain)
        self.games.reset(seed=config.first)

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Choose actions in all games that go on."""
        live = np.flatnonzero(~self.games.over)
        rows, actions = np.nonzero(mask)
        after = self.games.fork(live[rows])
        values = after.step(actions)[:, 0] - 1000 * after.lost
        going_on = np.flatnonzero(~after.over)
        if len(going_on):
            values[going_on] += self.best_points(after.fork(going_on))
        chosen = np.array([actions[rows == row][values[rows == row].argmax()] for row in range(len(live))])
        self.games.step(chosen, live)
        return chosen

    def best_points(self, games: Batch) -> npt.NDArray[np.int64]:
        """Most points of a play in each game."""
        preview = self.observer.observe_batch(games)["preview"][..., 0].reshape(games.num_games, -1)
        points: npt.NDArray[np.int64] = np.where(games.mask, preview, -1000).max(axis=1)
        return points


@pytest.mark.parametrize("claimed", ["greedy", "heuristic"])
def test_a_player_who_knows_the_pile_is_found_by_asking_the_claimed_policy(claimed: str, tmp_path: Path) -> None:
    config = MatchConfig(Rules(), "benchmark", 0, 30, seed=0, chunk=30)
    path = tmp_path / "cheat.npz"
    cheat = evaluate_all({claimed: KnowsThePile(config)}, config.deals, chunk=config.chunk, records=path)[claimed]
    records = Games.read(path)
    (result,) = verify(records)
    assert isinstance(result, Evaluation)
    assert (result.scores == cheat.scores).all(), "the games are legal, their points are right"
    assert cheat.mean > evaluate("greedy", config.deals).mean + 20
    found = rerun(records, claimed, claimed)
    assert found.positions >= 200
    assert found.equal < 0.9 * found.positions
    assert "the file has" in found.difference


def test_the_policy_itself_agrees(tmp_path: Path) -> None:
    """A deterministic policy in single positions, a stochastic one where its generator is in the same state."""
    evaluate_all(["greedy", "uniform"], 60, chunk=11, seed=7, records=tmp_path / "two.npz")
    records = Games.read(tmp_path / "two.npz")
    verify(records)
    certain, random = (rerun(records, name, name) for name in ("greedy", "uniform"))
    assert (certain.equal, certain.chunks) == (certain.positions, 0)
    assert certain.positions >= 200
    assert (random.equal, random.positions) == (len(records.lineups[1].actions),) * 2
    assert (random.chunks, random.of_chunks, random.different) == (6, 6, 0)
    reseeded = dataclasses.replace(records, config=dataclasses.replace(records.config, seed=8))
    found = rerun(reseeded, "uniform", "uniform")
    assert found.different == found.chunks == 6
    assert found.equal < 0.2 * found.positions


def test_one_policy_under_two_names_agrees(tmp_path: Path) -> None:
    compare(["uniform", "uniform"], 10, names=["one", "other"], records=tmp_path / "games")
    records = Games.read(tmp_path / "games")
    for name in ("one", "other"):
        found = rerun(records, name, "uniform")
        assert found.equal == found.positions == 200
        assert found.chunks == found.of_chunks == 1


# --- Forged chunks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("chunks", [10, 20, 21, 40, 100, 1000, 10_000])
def test_forged_chunks_are_drawn(chunks: int, share: float) -> None:
    """With a probability above 95 % if at least 5 % of the chunks, and at least one, are forged."""
    stats = pytest.importorskip("scipy.stats")
    forged = max(1, math.ceil(Fraction(str(share)) * chunks))
    drawn = [draw(chunks, np.random.default_rng(seed)) for seed in range(200)]
    for each in drawn:
        assert len(np.unique(each)) == len(each) == len(drawn[0])
        assert 0 <= each.min() <= each.max() < chunks
    found = np.mean([each.min() < forged for each in drawn])
    exact = 1 - stats.hypergeom.pmf(0, chunks, forged, len(drawn[0]))
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 200) + 1e-9), "each chunk alike"
    assert (exact > 0.95) == (20 * forged >= chunks), "no more is drawn than needed"
    assert len(drawn[0]) == chunks or chunks > 20


def forged_chunks(name: str, policies: dict[bool, Any], config: MatchConfig, chosen: Collection[int]) -> Games:
    """A file under this name; ``policies[True]`` has played the chosen chunks, ``policies[False]`` the others."""
    alone = np.zeros((1, 1), np.int64)
    chunks = [play_matches([policies[number in chosen]], alone, config, number) for number in config.chunks]
    results = MatchResults(*(np.concatenate(arrays) for arrays in zip(*chunks, strict=True)))
    return Games(
        config, (LineupGames.from_results((name,), (0,), results, Evaluation.from_results(results).to_json()),)
    )


@pytest.mark.parametrize(
    ("share", "seeds", "least"),
    [
        (0.1, 3, 3),
        (0.3, 3, 3),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in [(0.05, 20, 17), (0.1, 20, 20), (0.3, 20, 20)]),
    ],
)
def test_a_stochastic_policy_with_forged_chunks_is_found(share: float, seeds: int, least: int) -> None:
    """Among 40 chunks of two deals; two forged ones are missed with a probability of 4.6 %, four with 0.1 %."""
    config = MatchConfig(Rules(), "benchmark", 0, 80, seed=0, chunk=2)
    chosen = np.random.default_rng(0).permutation(40)[: round(40 * share)]
    records = forged_chunks("uniform", {True: greedy, False: uniform}, config, set(chosen.tolist()))
    verify(records)
    times = 0
    for seed in range(seeds):
        found = rerun(records, "uniform", "uniform", seed=seed)
        assert found.of_chunks == 40
        assert found.chunks in (31, 32)
        verdict = f"{found.different} different; deal " if found.different else "all equal"
        assert str(found).startswith(f"uniform: {found.chunks} of 40 chunks asked again, {verdict}")
        times += not found.agrees
    assert times >= least


def test_forged_games_of_a_deterministic_policy_are_found_wherever_they_are() -> None:
    """Positions are drawn from the whole file, and the chunk of one that differs is replayed, one of 25."""
    config = MatchConfig(Rules(), "benchmark", 0, 100, seed=0, chunk=4)
    for chosen in (range(5), range(20, 25)):
        records = forged_chunks("greedy", {True: first_legal, False: greedy}, config, chosen)
        for seed in range(2):
            found = rerun(records, "greedy", "greedy", seed=seed)
            assert found.different > 0
    records = forged_chunks("greedy", {True: first_legal, False: greedy}, config, range(7, 8))
    found = rerun(records, "greedy", "greedy", positions=10**9)
    assert found.different == 1
    assert re.match(r"deal (28|29|30|31), play \d+: the file has ", found.difference)


def test_every_seat_and_lineup_of_a_policy_is_asked_again(tmp_path: Path) -> None:
    """The games of two of three pairs, and there both seats."""
    path = tmp_path / "held.npz"
    tournament(["greedy", "uniform", "heuristic"], 6, chunk=2, records=path)
    records = Games.read(path)
    found = rerun(records, "uniform", "uniform")
    assert (found.chunks, found.of_chunks, found.different) == (6, 6, 0)
    own = 0
    for lineup in records.lineups:
        if "uniform" in lineup.policies:
            game = np.repeat(np.arange(len(lineup.lengths)), lineup.lengths)
            turn = np.arange(len(lineup.actions)) - lineup.starts[game]
            seat = lineup.seatings[game % len(lineup.seatings), turn % 2]
            own += int((seat == lineup.policies.index("uniform")).sum())
    assert found.equal == found.positions == own


def test_unknown_names(true: Games) -> None:
    with pytest.raises(ValueError, match="the file has no games of 'uniform', but of greedy"):
        rerun(true, "uniform", "uniform")
    with pytest.raises(ValueError, match="unknown policy 'no-such'"):
        rerun(true, "greedy", "no-such")
