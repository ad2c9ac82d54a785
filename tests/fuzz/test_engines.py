"""The engines: what they accept they treat as the integers it stands for; a refusal leaves the state unchanged."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from quincunx_env.core.deal import DOMAINS
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of
from tests.fuzz.games import RULES, Played, by_position, by_rules
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import arrays, as_integer, junk, numbers, snapshots, texts
from tests.variants import legal_actions, same

# --- One game --------------------------------------------------------------------------------------------------------


@by_position
def test_game(played: Played, fuzz: Fuzz) -> None:
    """Every method that takes numbers."""
    rules, spec = played.game.rules, spec_of(played.game.rules)
    cards, cells, actions = range(rules.num_cards), range(rules.num_cells), range(rules.num_actions)
    legal = [*spec.notation.legal_plays(played.game)]
    methods: dict[str, list[Any]] = {"step": [legal * 3 or actions], "hand": [range(rules.num_players)]}
    if spec.name == "quincunx":
        methods |= {"play": [cards, cells], "value": [cards, cells], "score": [cards, cells], "announce": [range(20)]}
    else:
        methods |= {"score": [cards]}

    def check(data: st.DataObject) -> None:
        method = data.draw(st.sampled_from(sorted(methods)))
        given = [data.draw(numbers(valid)) for valid in methods[method]]
        game, plain = played.game.copy(), played.game.copy()
        result, error = fuzz.attempt(lambda: getattr(game, method)(*given))
        if error:
            same(game.__getstate__(), played.game.__getstate__())
        else:
            wanted = getattr(plain, method)(*map(as_integer, given))
            assert result == wanted
            same(game.__getstate__(), plain.__getstate__())
        assert error is None or not all(type(each) is int for each in given) or _refused(plain, method, given)

    fuzz(check, 20)


def _refused(game: Any, method: str, given: list[int]) -> bool:
    try:
        getattr(game, method)(*given)
    except ValueError:
        return True
    return False


@by_rules
def test_new_games(rules: BaseRules, fuzz: Fuzz) -> None:
    """Deals from seeds, and games from deals."""
    spec: Any = spec_of(rules)
    others = [spec_of(other).Game.from_seed(other, 1).deals for other in RULES.values()]
    rounds = spec.Game.from_seed(rules, 1).deals

    def check(data: st.DataObject) -> None:
        given = [data.draw(numbers([0, 1, 5])) for _ in range(3)]
        domain = data.draw(st.sampled_from([*DOMAINS, *DOMAINS]) | texts("play"))
        deal, error = fuzz.attempt(lambda: spec.Deal.from_seed(rules, *given, domain=domain))
        assert error or deal == spec.Deal.from_seed(rules, *map(as_integer, given), domain=domain)
        game, error = fuzz.attempt(lambda: spec.Game.from_seed(rules, given[0], given[1], domain))
        assert error or game.deals[0] == spec.Deal.from_seed(rules, *map(as_integer, given[:2]), domain=domain)
        deals = data.draw(st.sampled_from([rounds, rounds[0], rounds[:1], [*rounds], *others]) | junk())
        if data.draw(st.booleans()):
            hands = list(rounds[0].hands)
            hands[-1] = data.draw(arrays(hands[-1]))
            deals = [data.draw(st.sampled_from([deals, _with_hands(rounds[0], hands)])), *rounds[1:]]
        game, error = fuzz.attempt(lambda: spec.Game(rules, deals))
        if not error:
            spec.Deal.parse(str(game.deals[0])).check(rules)
            _play_on(game)

    fuzz(check, 20)


def _with_hands(deal: Any, hands: list[Any]) -> Any:
    return type(deal)(
        getattr(deal, "face_up", None) or deal.starter, tuple(hands), *([deal.pile] if hasattr(deal, "pile") else [])
    )


def _play_on(game: Any) -> None:
    """Legal actions up to the end."""
    legal = spec_of(game.rules).notation.legal_plays
    while not game.over:
        game.step(next(iter(legal(game)))) if not getattr(game, "pending", None) else game.announce(0)


# --- Batches ---------------------------------------------------------------------------------------------------------


def batch_of(rules: BaseRules, plies: int, num_games: int = 4) -> Any:
    """Games after some actions."""
    batch = spec_of(rules).Batch(rules, num_games)
    batch.reset(seed=3)
    rng = np.random.default_rng(plies)
    for _ in range(plies):
        batch.step(legal_actions(batch, rng))
    return batch


def plain_rows(rows: Any, num_games: int) -> Any:
    """Row numbers as a list of integers."""
    if rows is None:
        return [*range(num_games)]
    array = np.atleast_1d(np.asarray(rows))
    return np.flatnonzero(array).tolist() if array.dtype == np.bool_ else array.tolist()


@by_rules
def test_batch(rules: BaseRules, fuzz: Fuzz) -> None:
    """Every method that takes rows or actions."""
    batches = [batch_of(rules, plies) for plies in (0, 5, 200)]
    rng = np.random.default_rng(0)

    def check(data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(batches))
        batch, before = start.fork(range(4)), start.get_state()
        row_list: Any = data.draw(st.sampled_from([[0, 1, 2, 3], [2], [3, 1], [True, False, True, False], [0, 0]]))
        rows = data.draw(st.none() | st.just(row_list) | arrays(row_list))
        legal = legal_actions(start, rng)[plain_rows(row_list, 4)].tolist()
        actions = data.draw(st.just(legal) | arrays(legal))
        method = data.draw(st.sampled_from(["step", "is_legal", "forfeit", "fork", "deals", "to_game", "value"]))
        one = data.draw(numbers(range(4)))
        calls: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
            "step": lambda batch, actions, rows, one: batch.step(actions, rows),
            "is_legal": lambda batch, actions, rows, one: batch.is_legal(actions, rows),
            "forfeit": lambda batch, actions, rows, one: batch.forfeit(rows if rows is not None else range(4)),
            "fork": lambda batch, actions, rows, one: batch.fork(rows if rows is not None else range(4)).get_state(),
            "deals": lambda batch, actions, rows, one: batch.deals(one),
            "to_game": lambda batch, actions, rows, one: batch.to_game(one).__getstate__(),
            "value": lambda batch, actions, rows, one: batch.value(
                *(
                    (actions, [0] * np.size(np.array(actions, object)))
                    if spec_of(rules).name == "quincunx"
                    else (actions,)
                ),
                rows,
            ),
        }
        result, error = fuzz.attempt(lambda: calls[method](batch, actions, rows, one))
        if error:
            same(batch.get_state(), before)
            return
        plain = start.fork(range(4))
        if method in ("step", "is_legal", "value"):
            actions = np.array(actions, np.int64)
        same(result, calls[method](plain, actions, plain_rows(rows, 4), as_integer(one)))
        same(batch.get_state(), plain.get_state())

    fuzz(check, 30)


@by_rules
def test_batch_reset(rules: BaseRules, fuzz: Fuzz) -> None:
    start = batch_of(rules, 5)
    deals = [start.deals(row) for row in range(4)]
    wrong = [spec_of(other).Game.from_seed(other, 1).deals for other in RULES.values()]

    def check(data: st.DataObject) -> None:
        batch, before = start.fork(range(4)), start.get_state()
        row_list: Any = data.draw(st.sampled_from([[0, 1, 2, 3], [2], [3, 1], [True, False, True, False]]))
        rows = data.draw(st.none() | st.just(row_list) | arrays(row_list))
        count = len(plain_rows(row_list, 4))
        seed = data.draw(st.none() | numbers([7, 2**63 - 2]) | arrays([7, 8, 9, 10][:count]))
        some = [data.draw(st.sampled_from([deals[0], deals[0], *wrong]) | junk()) for _ in range(count)]
        given = data.draw(st.none() | st.just(deals[:count]) | st.just(some) | junk())
        _, error = fuzz.attempt(lambda: batch.reset(seed, rows, given))
        if error:
            same(batch.get_state(), before)
            return
        plain = start.fork(range(4))
        numbers_given = plain_rows(rows, 4)
        plain_seed = as_integer(seed) if as_integer(seed) is not None else seed if seed is None else [*map(int, seed)]
        plain.reset(plain_seed, numbers_given, given)
        same(batch.get_state(), plain.get_state())
        batch.step(legal_actions(batch, np.random.default_rng(0)))

    fuzz(check, 20)


@by_rules
def test_batch_state(rules: BaseRules, fuzz: Fuzz) -> None:
    starts = [batch_of(rules, plies) for plies in (0, 5, 200)]
    others = [batch_of(other, 3).get_state() for other in RULES.values()]
    others += [batch_of(rules, 3, games).get_state() for games in (1, 5)]

    def check(data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(starts))
        batch, before = start.fork(range(4)), start.get_state()
        state = data.draw(snapshots(data.draw(st.sampled_from(starts)).get_state(), others))
        _, error = fuzz.attempt(lambda: batch.set_state(state))
        if error:
            same(batch.get_state(), before)
            return
        after = batch.get_state()
        same(after, {name: np.asarray(state[name], array.dtype) for name, array in after.items()})
        rng = np.random.default_rng(0)
        for _ in range(60):
            batch.step(legal_actions(batch, rng))
        batch.reset(rows=range(4))

    fuzz(check, 30)


@by_rules
def test_new_batches(rules: BaseRules, fuzz: Fuzz) -> None:
    cls: Any = spec_of(rules).Batch

    def check(data: st.DataObject) -> None:
        size = data.draw(numbers(range(1, 5)).filter(lambda size: (as_integer(size) or 0) < 2**20))
        domain = data.draw(st.sampled_from([*DOMAINS]) | texts("play"))
        batch, error = fuzz.attempt(lambda: cls(rules, size, domain))
        if not error:
            assert type(batch.num_games) is int
            assert batch.num_games == as_integer(size)
            batch.reset(seed=0)
            plain = cls(rules, as_integer(size), domain)
            plain.reset(seed=0)
            same(batch.get_state(), plain.get_state())

    fuzz(check, 10)


@by_rules
def test_positions(rules: BaseRules, fuzz: Fuzz) -> None:
    """Given positions: of a game, with entries lost or changed."""
    batch = spec_of(rules).Batch(rules, 4)
    batch.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        batch.step(legal_actions(batch, rng))
    names = ("decks", "board", "hands", "ply", "scores", "totals", "mover", "round")
    valid = {name: array for name, array in batch.get_state().items() if name in names}

    def check(data: st.DataObject) -> None:
        other, before = batch.fork(range(4)), batch.get_state()
        state = data.draw(st.just(valid) | snapshots(valid).filter(lambda each: isinstance(each, dict)))
        if not all(isinstance(name, str) for name in state):
            return
        _, error = fuzz.attempt(lambda: other.set_position(**state), *([] if set(state) <= set(names) else [TypeError]))
        if error:
            same(other.get_state(), before)
            return
        for _ in range(30):
            other.step(legal_actions(other, rng))
        other.reset(rows=range(4))

    fuzz(check, 10)
