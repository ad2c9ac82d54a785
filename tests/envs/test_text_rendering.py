"""Games as text: all that is shown; `test_leak` looks for what a seat may not see."""

import random

import numpy as np
import pytest

from quincunx_env import card_name
from quincunx_env.envs.solitaire import SolitaireEnv
from quincunx_env.quincunx.scoring import RATINGS
from quincunx_env.registry import spec_of
from tests import reference_scorer as scorer
from tests.envs import agents
from tests.envs.agents import Options
from tests.envs.solitaire import choose
from tests.variants import new_game, random_action

SEED = 2_000


def test_a_solitaire_as_text() -> None:
    """Column numbers, four rows of cards and free cells, the hand, the pile, and in the end how it went."""
    env = SolitaireEnv(render_mode="ansi", edge_contact=True)
    env.reset(seed=SEED)
    rng = np.random.default_rng(SEED)
    while True:
        text = env.render()
        assert isinstance(text, str)
        lines = text.splitlines()
        game = env.game
        assert lines[0].split() == ["0", "1", "2", "3"]
        for row in range(4):
            line = lines[1 + row]
            assert line[:4].split() == [str(row)]
            for column in range(4):
                cell = 4 * row + column
                shown = card_name(game.board[cell]) if game.board[cell] >= 0 else "." if game.legal[cell] else ""
                played = "[]" if game.ply and game.order[cell] == game.ply else "  "
                assert line[4 + 5 * column : 10 + 5 * column].strip(" []") == shown
                assert line[4 + 5 * column] in (played[0], "]")
        names = " ".join(map(card_name, game.hand(0)))
        mark = " " if game.over else ">"
        assert lines[5].rstrip() == f"{mark} seat 0: {game.totals[0]:>4} points, hand: {names}".rstrip()
        assert lines[6] == f"  pile: {len(game.pile)} cards"
        assert any(line.startswith("  last: seat 0 played ") for line in lines) == (game.ply > 0)
        if game.over:
            assert lines[-1] == f"  over: {RATINGS[scorer.rating(game.totals[0], game.lost)]}"
            break
        assert "over" not in text
        env.step(choose(env, rng))
    assert SolitaireEnv().render() is None


@agents.each([{}, agents.OPTIONS[-1], agents.SPIRAL_OPTIONS[1]])
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
def test_a_game_of_several_players_as_text(options: Options, wrapped: bool) -> None:
    """All hands shown, from the deal to the winners; nothing where no text was asked for."""
    env = agents.make(options | {"render_mode": "ansi"}, wrapped=wrapped)
    silent = agents.make(options, wrapped=wrapped)
    game, rng = new_game(env.unwrapped.rules, agents.SEED), random.Random(SEED)
    spec = spec_of(game.rules)
    card_name = spec.Deal.NAMES.card_name
    while not game.over:
        text = env.render()
        assert text == spec.scene(game).text()
        assert f"> seat {game.mover}" in text
        for card in game.hand(0):
            assert card_name(card) in text.split()
        assert silent.render() is None
        action = random_action(game, rng)
        for each_game in (game, env, silent):
            each_game.step(action)
    assert env.render().splitlines()[-1].startswith("  over: won by seat ")
    env.close()
    env.close()
