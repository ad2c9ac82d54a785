"""Padded observations and actions of every variant of Quincunx: the same contents and the same meaning."""

import numpy as np
import pytest

from quincunx_env import Game, Rules, resample, spiral
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.padded import FORM, NO_CELL, PaddedObserver
from quincunx_env.registry import make_observer
from tests.variants import COVERING, VARIANTS, by_name, positions, same

SEED = 1_000

every_variant = by_name({name: rules for name, rules in VARIANTS.items() if name in COVERING})
SOME = [VARIANTS[name] for name in ("solitaire", "corners-3+pawns", "open-4", "corners-2+excuse+pawns+flush+simpleton")]
some_variants = pytest.mark.parametrize("rules", SOME, ids=str)


def place_of(rules: Rules, cell: int) -> int:
    """The fixed number of a cell: smaller grids lie in the middle, 4x4 as if it were 5x5."""
    row, column = divmod(cell, rules.grid.side)
    shift = {3: 3, 4: 2, 5: 2, 9: 0}[rules.grid.side]
    return (row + shift) * 9 + column + shift


def test_one_layout_serves_all_rules() -> None:
    layouts = {
        (
            tuple(piece[:6] for piece in observer.pieces),
            *(observer.encoder(by_place).table() for by_place in (False, True)),
            tuple(observer.counts),
            observer.joint.num_actions,
            *(str(observer.encoder(by_place).space()) for by_place in (False, True)),
        )
        for observer in (PaddedObserver(rules, preview=True) for rules in VARIANTS.values())
    }
    assert len(layouts) == 1
    observer = PaddedObserver(Rules())
    assert observer.joint.num_actions == 41 * 81 + 384
    shapes = {piece.name: piece.shape for piece in observer.pieces}
    assert shapes == {
        **{"board": (81,), "order": (81,), "hand": (41,), "counts": (16,), "pending": (2,)},
        "form": (len(FORM),),
    }


@every_variant
def test_everything_stands_where_it_should(rules: Rules) -> None:
    """Cell by cell, count by count, against the observation of the rules' own width."""
    wide, own = PaddedObserver(rules, preview=True), Observer(rules, preview=True)
    cells = [place_of(rules, cell) for cell in range(rules.num_cells)]
    space = wide.dict_space()
    for step, game in enumerate(positions(rules, SEED)):
        if step % 5 and not game.over:
            continue
        for seat in range(rules.num_players):
            seen, small = wide.observe(game, seat), own.observe(game, seat)
            assert space.contains(seen)
            for cell in range(81):
                inside = cell in cells
                assert seen["board"][cell] == (small["board"][cells.index(cell)] if inside else NO_CELL)
                assert seen["order"][cell] == (small["order"][cells.index(cell)] if inside else -1)
            assert seen["hand"].tolist() == [*small["hand"].tolist(), *[0] * (41 - rules.num_cards)]
            counts = dict(zip(wide.counts, seen["counts"].tolist(), strict=True))
            known = dict(zip(own.counts, small["counts"].tolist(), strict=True))
            if not rules.match:
                known |= {f"total_{other}": known[f"score_{other}"] for other in range(rules.num_players)}
            assert counts == dict.fromkeys(wide.counts, 0) | known
            pending = small.get("pending", np.array([-1, -1])).tolist()
            assert seen["pending"].tolist() == ([pending[0], cells[pending[1]]] if pending[0] >= 0 else [-1, -1])
            assert seen["form"].tolist() == [int(getattr(rules, name)) for name in FORM]
            preview = np.zeros((41, 81, 2), np.int16)
            preview[: rules.num_cards, cells] = small["preview"]
            same(seen["preview"], preview)
            same(wide.to_unpadded(seen)[1], small)
            same(wide.to_unpadded(wide.encoder().encode(seen))[1], small)


@every_variant
def test_actions_mean_the_same(rules: Rules) -> None:
    """Each legal action of its own width has one fixed number, and no other number means anything."""
    observer, own = PaddedObserver(rules), Observer(rules)
    fixed, engine = np.arange(observer.joint.num_actions), observer.joint.engine(np.arange(observer.joint.num_actions))
    assert sorted(engine[engine >= 0].tolist()) == list(range(rules.num_actions))
    for action, number in zip(engine[engine >= 0].tolist(), fixed[engine >= 0].tolist(), strict=True):
        if action < rules.num_plays_encoded:
            card, cell = divmod(action, rules.num_cells)
            assert number == card * 81 + place_of(rules, cell)
        else:
            assert number - 41 * 81 == action - rules.num_plays_encoded
    assert observer.joint.engine(np.array([-1, observer.joint.num_actions, 10**9])).tolist() == [-1, -1, -1]
    game = Game.from_seed(rules, 3)
    assert (
        sorted(observer.joint.engine(observer.mask(game).nonzero()[0]).tolist()) == own.mask(game).nonzero()[0].tolist()
    )


@some_variants
def test_resampling_takes_either_width(rules: Rules) -> None:
    wide, own, game = PaddedObserver(rules, preview=True), Observer(rules, preview=True), Game.from_seed(rules, 8)
    game.step(int(own.mask(game).argmax()))
    seen = resample(wide, wide.vector(game, 0, by_place=False), np.random.default_rng(0), 4)
    same(seen.get_state(), resample(own, own.observe(game, 0), np.random.default_rng(0), 4).get_state())
    same(wide.hidden(wide.observe(game, 0)), own.hidden(own.observe(game, 0)))
    same(wide.public_state(wide.observe(game, 0)), own.public_state(own.observe(game, 0)))
    other = PaddedObserver(VARIANTS["open-2+pawns+flush"], preview=True)
    with pytest.raises(ValueError, match="of other rules than"):
        resample(other, wide.observe(game, 0), np.random.default_rng(0))


def test_the_spiral_game_has_no_padded_observer() -> None:
    assert type(make_observer(Rules(), padded=True)) is PaddedObserver
    with pytest.raises(ValueError, match="'spiral' has no padded observations: make an environment or a policy"):
        make_observer(spiral.Rules(), padded=True)
