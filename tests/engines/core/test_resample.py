"""`resample`: games that agree with an observation, uniform in what it hides, and a function of it alone."""

import pickle
import random
from itertools import combinations, pairwise, product
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env import Batch, Game, Observer, Rules, quincunx_v0, spiral, spiral_v0
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Observer as AnyObserver
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.testing import assert_resample_consistent, assert_same_information_set
from tests.variants import (
    BASES,
    COVERING,
    EVERY_GAME,
    MINI,
    SOME_SPIRAL,
    VARIANTS,
    announcement,
    new_game,
    positions,
    random_action,
    same,
    slow_unless_covering,
)

SEED = 4_000

every_game = pytest.mark.parametrize(
    "variant", [pytest.param(name, marks=slow_unless_covering(name)) for name in EVERY_GAME]
)


def rng_of(seed: int = SEED) -> np.random.Generator:
    """A generator of its own."""
    return np.random.default_rng(seed)


def reach(rules: BaseRules, steps: int, seed: int = SEED) -> Any:
    """A random game after some actions."""
    game, rng = new_game(rules, seed), random.Random(seed)
    for _ in range(steps):
        game.step(random_action(game, rng))
    return game


def left_over(game: Game | spiral.Game) -> list[int]:
    """The cards of this round that are in no hand and not on the board: the pile from the top, or those face down."""
    return list(game.pile) if isinstance(game, Game) else sorted({*range(52)} - {*game.deals[game.round].cards})


def hide(game: Any, seat: int, rng: random.Random) -> tuple[Any, ...]:
    """Other deals in the same information set of a seat.

    The cards that it cannot see are permuted, and later rounds are shuffled.
    """
    rules = game.rules
    hidden = left_over(game)
    for other in range(rules.num_players):
        hidden += game.hand(other) if other != seat else ()
    changed = dict(zip(hidden, rng.sample(hidden, len(hidden)), strict=True))
    now = spec_of(rules).Deal.of_cards(rules, [changed.get(card, card) for card in game.deals[game.round].cards])
    later = [
        spec_of(rules).Deal.of_cards(rules, rng.sample(rules.deck, len(rules.deck)))
        for _ in game.deals[game.round + 1 :]
    ]
    return (*game.deals[: game.round], now, *later)


def assert_agrees(observer: AnyObserver, batch: Any, game: Any, seat: int) -> None:
    """The resampled games look to the seat as the game does, everything public is the same, and no card is lost."""
    assert_same_information_set(game, seat, batch)
    rules, players = game.rules, range(game.rules.num_players)
    quincunx = isinstance(game, Game)
    copies = pickle.loads(pickle.dumps(batch.fork([0], 2)))
    assert batch.seat == copies.seat == seat
    assert set(batch.totals[:, batch.seat].tolist()) == {game.totals[seat]}
    for row in range(batch.num_games):
        other = batch.to_game(row)
        for public in ("drawn", "pending", "lost") if quincunx else ("dealer", "cell"):
            assert getattr(other, public) == getattr(game, public), public
        if quincunx:
            assert batch.cell_mask[row].nonzero()[0].tolist() == list(game.legal_cells()) == list(other.legal_cells())
        hands = [other.hand(each) for each in players]
        laid = [card for card in other.board if card != EMPTY]
        laid += [other.pending.card] if quincunx and other.pending else []
        assert sorted([*laid, *left_over(other), *(card for hand in hands for card in hand)]) == list(rules.deck)
        assert len(left_over(other)) == len(left_over(game))


@every_game
def test_resampled_games_agree_with_the_observation(variant: str) -> None:
    """For every seat along a random game, from pieces or a vector; while announcing and in later rounds too."""
    rules = EVERY_GAME[variant]
    observer = make_observer(rules, preview=True)
    game_length = sum(1 for _ in positions(rules, SEED))
    stops = {0, 1, 2, game_length // 3, 2 * game_length // 3, game_length - 3, game_length - 2}
    announcing = later = different = 0
    for step, game in enumerate(positions(rules, SEED)):
        for seat in range(rules.num_players) if step in stops else ():
            seen = observer.observe(game, seat)
            batch = resample(observer, seen, rng_of(step), 3)
            assert_agrees(observer, batch, game, seat)
            by_place = bool(step % 2)
            again = resample(observer, observer.vector(game, seat, by_place), rng_of(step), 3)
            same(again.get_state(), batch.get_state())
            announcing += game.decision == "announce"
            later += game.round > 0
            hidden = [[left_over(batch.to_game(row)), batch.hands[row].tolist()] for row in range(3)]
            different += hidden[0] != hidden[1] != hidden[2]
    assert bool(announcing) == ("announce" in rules.decisions)
    assert bool(later) == (rules.num_rounds > 1)
    assert different


# --- Uniform and seeded ----------------------------------------------------------------------------------------------


def deviations(counts: npt.NDArray[Any], chance: npt.NDArray[Any], n: int) -> npt.NDArray[np.float64]:
    """How many standard deviations each count of n trials is from what it should be."""
    scores: npt.NDArray[np.float64] = (counts - n * chance) / np.sqrt(n * chance * (1 - chance))
    return scores


def assert_chance(scores: npt.NDArray[np.float64], freedom: int = 400) -> None:
    """Such deviations as chance brings: none is large, and their squares average 1, the closer the more are free."""
    assert scores.size > 30
    assert abs(scores).max() < 5
    assert (scores**2).mean() == pytest.approx(1, abs=max(0.2, 3 * (2 / freedom) ** 0.5))


@pytest.mark.parametrize(
    ("variant", "steps", "seat"),
    [
        ("solitaire+excuse", 6, 0),
        ("corners-2", 0, 1),
        ("corners-3+pawns", 8, 0),
        ("open-4", 7, 2),
        ("corners-4+excuse+pawns+flush+simpleton+match", 53, 3),
        ("spiral-play-1", 0, 1),
        ("spiral-end-1", 7, 0),
        ("spiral-play+fifteens-2", 33, 0),
        ("spiral-end+fifteens-4", 60, 1),
    ],
)
def test_hidden_cards_are_spread_uniformly(variant: str, steps: int, seat: int) -> None:
    """Each over the other hands, by their sizes, and the places of the pile; and any two of them independently.

    In the spiral game there are 25 cards face down, in no order, in place of the pile.
    """
    rules, n = EVERY_GAME[variant], 4000
    game, observer = reach(rules, steps), make_observer(rules)
    others = [other for other in range(rules.num_players) if other != seat]
    hidden = sorted([*left_over(game), *(card for other in others for card in game.hand(other))])
    batch = resample(observer, observer.observe(game, seat), rng_of(), n)
    bits = np.array(hidden, np.uint64)
    holds = [(batch.hands[:, [other]] >> bits & np.uint64(1)).astype(np.bool_) for other in others]
    deck, sizes = batch.decks[:, game.round], [len(game.hand(other)) for other in others]
    if isinstance(rules, Rules):
        pile = deck[:, len(rules.deck) - rules.pile_size + game.drawn :]
        assert pile.shape[1] == len(game.pile) > 3
        lies = [pile[:, [place]] == hidden for place in range(pile.shape[1])]
        sizes += [1] * len(game.pile)
    else:
        lies = [~(deck[:, :, None] == hidden).any(axis=1)]
        sizes += [25]
    places = np.stack([*holds, *lies])  # [places, games, hidden cards]
    assert (places.sum(axis=0) == 1).all(), "every hidden card lies in one place"
    assert (places.sum(axis=2) == np.array(sizes)[:, None]).all()
    chance = np.array(sizes) / len(hidden)
    free = (len(places) - 1) * (len(hidden) - 1)
    assert_chance(deviations(places.sum(axis=1), chance[:, None], n), free)
    # Two cards are in the same hand, or the first lies right on the second, as often as they should.
    pairs = list(combinations(range(len(hidden)), 2))
    first, second = np.array(pairs).T
    for hand, size in enumerate(sizes):
        if size > 1:
            both = (places[hand][:, first] & places[hand][:, second]).sum(axis=0)
            assert_chance(deviations(both, chance[hand] * (size - 1) / (len(hidden) - 1), n), free)
    if len(lies) > 1:
        above = np.sum([(upper[:, first] & lower[:, second]).sum(axis=0) for upper, lower in pairwise(lies)], axis=0)
        assert_chance(deviations(above, np.array((len(lies) - 1) / len(hidden) / (len(hidden) - 1)), n))


@pytest.mark.parametrize(
    ("variant", "place"), [("corners-3+match", -11), ("spiral-play-4", 1)], ids=["quincunx", "spiral"]
)
def test_later_rounds_are_uniform_too(variant: str, place: int) -> None:
    """Each card in each place of the deck of the next round, whatever lies where in this one.

    ``place`` is one of a card of this round that is hidden, of the pile or of the other hand.
    """
    rules, n = EVERY_GAME[variant], 4000
    cards, observer = len(rules.deck), make_observer(rules)
    batch = resample(observer, observer.observe(reach(rules, 3), 1), rng_of(), n)
    for number in range(1, rules.num_rounds):
        counts = np.stack([np.bincount(column, minlength=cards) for column in batch.decks[:, number].T])
        assert_chance(deviations(counts, np.array(1 / cards), n))
    top = batch.decks[:, 0, place]
    both = np.zeros((cards, cards))
    np.add.at(both, (top, batch.decks[:, 1, 0]), 1)
    unseen = np.unique(top)
    assert_chance(deviations(both[unseen], np.array(1 / cards / len(unseen)), n))


@pytest.mark.parametrize("variant", ["solitaire", "corners-2+match", "open-4+simpleton", *SOME_SPIRAL])
def test_samples_follow_from_the_generator(variant: str) -> None:
    """The same state of it gives the same batch; another one, or a second call, gives another."""
    rules = EVERY_GAME[variant]
    observer, rng = make_observer(rules), rng_of(1)
    seen = observer.observe(reach(rules, 5))
    kept = {piece: values.copy() for piece, values in seen.items()}
    state = rng.bit_generator.state
    batches = [
        resample(observer, seen, rng, 2),
        resample(observer, seen, rng, 2),
        resample(observer, seen, rng_of(2), 2),
    ]
    rng.bit_generator.state = state
    same(resample(observer, seen, rng, 2).get_state(), batches[0].get_state())
    same(seen, kept)
    for one, other in combinations(batches, 2):
        assert (one.hands != other.hands).any() or (one.decks != other.decks).any()
    hands = resample(observer, seen, rng_of(3), 50)
    assert len(np.unique(hands.decks[:, 0], axis=0)) == 50, "each game is dealt for itself"


@pytest.mark.parametrize("variant", sorted(COVERING - {*MINI}))
def test_what_is_hidden_has_no_influence(variant: str) -> None:
    """The same actions on deals that differ in what a seat cannot see give it the same samples."""
    rules = EVERY_GAME[variant]
    observer, rng = make_observer(rules), random.Random(SEED)
    actions, game, different = list[int](), new_game(rules, SEED), 0
    while len(actions) < 5 or game.round < min(1, rules.num_rounds - 1) or game.ply < 5:
        actions.append(random_action(game, rng))
        game.step(actions[-1])
    for seat in range(rules.num_players):
        twin = type(game)(rules, hide(game, seat, rng))
        for action in actions:
            twin.step(action)
        different += left_over(twin) != left_over(game)
        samples = [
            resample(observer, observer.vector(each, seat, by_place=False), rng_of(), 3) for each in (game, twin)
        ]
        same(samples[0].get_state(), samples[1].get_state())
    assert different


# --- Playing on ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", sorted({*BASES, *COVERING, "spiral-end-1"}))
def test_resampled_games_can_be_played_to_the_end(variant: str) -> None:
    """As a batch and one by one, with the same gains throughout; later rounds are dealt differently in each."""
    rules, n = EVERY_GAME[variant], 3
    observer, rng = make_observer(rules), random.Random(SEED)
    plays = rules.num_plays if isinstance(rules, Rules) else 24
    game = reach(rules, plays + 3 if rules.num_rounds > 1 else 3)
    seat = rules.num_players - 1
    batch = resample(observer, observer.observe(game, seat), rng_of(), n)
    games = [batch.to_game(row) for row in range(n)]
    later = [deal for row in range(n) for deal in batch.deals(row)[game.round + 1 :]]
    assert len(set(later)) == len(later) == n * (rules.num_rounds - game.round - 1)
    assert not set(later) & set(game.deals)
    rounds = set()
    while not batch.over.all():
        actions = [0 if each.over else random_action(each, rng) for each in games]
        gains = [
            [0] * rules.num_players if each.over else each.step(action)
            for each, action in zip(games, actions, strict=True)
        ]
        assert batch.step(actions).tolist() == gains
        for row, each in enumerate(games):
            rounds.add((each.round, each.deals[each.round].hands if each.round > game.round else ()))
            same(observer.observe(batch.to_game(row), seat), observer.observe(each, seat))
    assert all(each.over for each in games)
    assert batch.totals.tolist() == [each.totals for each in games]
    assert {number for number, _ in rounds} == set(range(game.round, rules.num_rounds))
    assert len(rounds) == 1 + len(later), "other hands in every later round of every sample"


@pytest.mark.parametrize("rules", [Rules(2), spiral.Rules(deals=1)], ids=["quincunx", "spiral"])
def test_games_after_a_resampled_one_are_unknown(rules: BaseRules) -> None:
    """A reset goes on with deals of its own, not with those of the observed row."""
    observer = make_observer(rules)
    batch = resample(observer, observer.observe(reach(rules, 3)), rng_of(), 3)
    assert batch.seed.tolist() == batch.game.tolist() == [-1] * 3
    batch.reset()
    dealt = {batch.deals(row) for row in range(3)}
    assert len(dealt) == 3
    assert not dealt & {new_game(rules, seed, number).deals for seed in (0, SEED) for number in range(5)}
    assert len(set(batch.seed.tolist())) == 3


# --- Refused observations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variant", [*BASES, "corners-2+simpleton", "open-3+simpleton+match", "corners-4+match", *SOME_SPIRAL]
)
def test_finished_games_are_refused(variant: str) -> None:
    """For every seat, from pieces and vectors; a solitaire whether it was lost or not."""
    rules = EVERY_GAME[variant]
    observer, endings = make_observer(rules), set()
    for seed in range(SEED, SEED + (1 if rules.num_players > 1 else 30)):
        *_, game = positions(rules, seed)
        endings.add(getattr(game, "lost", False))
        for seat in range(rules.num_players):
            seen: tuple[Any, ...] = (observer.observe(game, seat), observer.vector(game, seat, by_place=False))
            for observation in (*seen, observer.vector(game, seat, by_place=True)):
                with pytest.raises(ValueError, match="game that is over"):
                    resample(observer, observation, rng_of())
    assert endings == ({False, True} if rules.num_players == 1 else {False})


@pytest.mark.parametrize("variant", ["corners-2+simpleton", "corners-3+simpleton", "open-4+simpleton"])
def test_the_last_announcement_with_empty_hands_is_not_the_end(variant: str) -> None:
    """When nothing was ever drawn, no seat holds a card while the last play is announced."""
    rules = VARIANTS[variant]
    game = without_draws(rules)
    assert game.pending
    assert not game.over
    assert not any(map(any, game.hands))
    observer = Observer(rules, preview=True)
    for seat in range(rules.num_players):
        batch = resample(observer, observer.observe(game, seat), rng_of(), 2)
        assert_agrees(observer, batch, game, seat)


def without_draws(rules: Rules) -> Game:
    """A game in which the last card is to be announced and none has been drawn."""
    for seed in range(1000):
        game, rng = Game.from_seed(rules, seed), random.Random(seed)
        while True:
            plays = list(product(game.legal_cards(), game.legal_cells()))
            rng.shuffle(plays)
            play = next((play for play in plays if not game.value(*play)[1]), None)
            if play is None:
                break
            game.play(*play)
            if not any(map(any, game.hands)):
                return game
            game.step(announcement(rules, 0))
    raise AssertionError("no such game")


@pytest.mark.parametrize("vector", [False, True], ids=["pieces", "vector"])
@pytest.mark.parametrize(
    ("own", "its"),
    [
        (Rules(), Rules(2)),
        (Rules(2), Rules()),
        (Rules(2), Rules(3)),
        (Rules(4), Rules(3)),
        (Rules(2), Rules(2, "open")),
        (Rules(3, "open"), Rules(3)),
        (Rules(2), Rules(2, pawns=True)),
        (Rules(excuse=True, pawns=True), Rules(excuse=True)),
        (Rules(3, match=True), Rules(3)),
        (spiral.Rules(deals=1), spiral.Rules(deals=2)),
        (spiral.Rules(deals=4), spiral.Rules(deals=1)),
        (spiral.Rules(), Rules(2)),
        (Rules(2), spiral.Rules()),
        (Rules(2, simpleton=True), Rules(2)),  # a piece less
        (Rules(2), Rules(2, match=True)),  # more counts
        (Rules(2), Rules(2, simpleton=True)),  # longer, and taken as it is
        (Rules(3), Rules(2, simpleton=True)),  # of the same length, and taken for something else
    ],
    ids=str,
)
def test_observations_of_other_rules_are_refused(own: BaseRules, its: BaseRules, vector: bool) -> None:
    """Of another game, another number of players or rounds, another grid or another deck."""
    observer, game = make_observer(its), reach(its, 4)
    seen = observer.vector(game, 0, by_place=False) if vector else observer.observe(game)
    with pytest.raises(ValueError):  # noqa: PT011  the message depends on the first difference
        resample(make_observer(own), seen, rng_of())


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True, None], ids=repr)
def test_the_number_of_games_is_a_positive_integer(n: Any) -> None:
    observer = Observer(Rules())
    seen = observer.observe(reach(Rules(), 2))
    with pytest.raises(ValueError, match="n must be an integer from 1 to"):
        resample(observer, seen, rng_of(), n)
    assert resample(observer, seen, rng_of(), np.int64(2)).num_games == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("rng", [None, 3, np.random.RandomState(0)], ids=["None", "3", "RandomState"])
def test_the_generator_is_one_of_numpy(rng: Any) -> None:
    observer = Observer(Rules())
    with pytest.raises(ValueError, match=r"rng must be a numpy.random.Generator, got"):
        resample(observer, observer.observe(reach(Rules(), 2)), rng)


def test_what_is_no_observation_is_refused() -> None:
    observer = Observer(Rules())
    seen = observer.observe(reach(Rules(), 2))
    vector = observer.encoder().encode(seen)
    for known in (vector, vector.astype(np.float64), observer.encoder(by_place=True).encode(seen)):
        resample(observer, known, rng_of())
    others: tuple[Any, ...] = (None, "x", {}, vector[1:], vector + np.float32(0.5), vector * np.nan)
    others += (vector + 100, vector.astype(np.int16))
    for wrong in others:
        with pytest.raises(ValueError, match="this is not an observation of one game of"):
            resample(observer, wrong, rng_of())
    unfit: dict[str, Any] = {
        "extra": seen | {"extra": vector},
        "board": seen | {"board": seen["board"][:-1]},
        "hand": {name: piece for name, piece in seen.items() if name != "hand"},
    }
    for name, wrong in unfit.items():
        with pytest.raises(ValueError, match=f"by this observer: '{name}' does not fit"):
            resample(observer, wrong, rng_of())


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("rules", [Rules(num_players=3), spiral.Rules()], ids=str)
def test_many_positions_are_sampled_as_one_after_the_other(rules: BaseRules, vector: bool) -> None:
    observer = make_observer(rules, preview=True)
    games = [reach(rules, steps) for steps in (2, 3, 5)]
    batch = spec_of(rules).Batch.of_games(games)
    seen: Any = observer.vector_batch(batch, None, False) if vector else observer.observe_batch(batch)
    found, rng = resample(observer, seen, rng_of(), 2), rng_of()
    for row, game in enumerate(games):
        one = resample(observer, observer.observe(game, game.mover), rng, 2)
        same(found.fork([2 * row, 2 * row + 1]).get_state(), one.get_state())
    with pytest.raises(AttributeError, match="no seat is the observer's"):
        _ = found.seat
    assert found.fork(range(4)).num_games == 4
    alike = {name: piece[[0, 0]] for name, piece in observer.observe_batch(batch).items()}
    assert resample(observer, alike, rng).seat == games[0].mover


def test_games_that_are_dealt_have_no_observing_seat() -> None:
    batch = Batch(Rules(2), 3)
    batch.reset(0)
    with pytest.raises(AttributeError, match="dealt, or sampled for several seats"):
        batch.fork([0]).seat  # noqa: B018


MASKED = [
    quincunx_v0.env(),
    quincunx_v0.env(num_players=3, actions="hand"),
    spiral_v0.env(),
    *(gymnasium.make(f"Quincunx/{name}Masked-v0") for name in ("Solitaire", "VsOpponents")),
    gymnasium.make("Quincunx/Solitaire-v0", mask_in="obs"),
    gymnasium.make("Quincunx/Solitaire-v0", mask_in="obs", padded=True, actions="hand"),
]


@pytest.mark.parametrize("env", MASKED, ids=str)
def test_observations_of_environments_are_taken_with_their_masks(env: Any) -> None:
    shown = env.reset(seed=SEED) or [env.observe(env.agent_selection)]
    assert "action_mask" in shown[0]
    observer, game = env.unwrapped.observer, env.unwrapped.game
    assert_same_information_set(game, game.mover, resample(observer, shown[0], rng_of(), 2))
    same(observer.to_unpadded(shown[0])[1], make_observer(game.rules, observer.preview).observe(game, game.mover))


# --- The exported check ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Rules(3), spiral.Rules()], ids=["quincunx", "spiral"])
def test_the_exported_check_accepts_resample(rules: BaseRules) -> None:
    """It counts the games that it checked."""
    checked = assert_resample_consistent(rules, n=2)
    assert checked % (2 * rules.num_players) == 0
    assert checked > 0


def truth_of_another_seat(observer: AnyObserver, observation: Any, rng: np.random.Generator, n: int) -> Any:
    """Games in which the seats have exchanged their hands."""
    batch = resample(observer, observation, rng, n)
    batch.hands[:] = batch.hands[:, ::-1]
    return batch


def a_card_twice(observer: AnyObserver, observation: Any, rng: np.random.Generator, n: int) -> Any:
    """Games in which another seat holds a card of the observing one."""
    batch = resample(observer, observation, rng, n)
    counts = observer.named_counts(observation)
    seat = -counts["first"] % 2
    own, other = int(batch.hands[0, seat]), int(batch.hands[0, 1 - seat])
    batch.hands[0, 1 - seat] = np.uint64(other & (other - 1) | own & -own)
    return batch


def another_score(observer: AnyObserver, observation: Any, rng: np.random.Generator, n: int) -> Any:
    """Games with other points."""
    batch = resample(observer, observation, rng, n)
    batch.totals += 1
    return batch


def too_few(observer: AnyObserver, observation: Any, rng: np.random.Generator, n: int) -> Any:
    """One game less."""
    return resample(observer, observation, rng, n - 1)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (truth_of_another_seat, "seat 0 after .*differs in the observation"),
        (a_card_twice, "a card is in two places of sampled game 0"),
        (another_score, "has totals"),
        (too_few, "3 games are needed, got 2"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_exported_check_finds_mistakes(wrong: Any, match: str) -> None:
    """It names the seat, the actions and the difference."""
    with pytest.raises(AssertionError, match=match):
        assert_resample_consistent(Rules(2), wrong)
