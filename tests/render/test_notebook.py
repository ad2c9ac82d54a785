"""Pictures of objects in notebooks."""

import re
from base64 import b64decode
from typing import Any

import pytest

from quincunx_agents.uniform import uniform
from quincunx_env import (
    Rules,
    SolitaireEnv,
    SolitaireVectorEnv,
    VsOpponentsEnv,
    VsOpponentsVectorEnv,
    arena,
    quincunx_v0,
    render,
    spiral_v0,
)
from quincunx_env.envs.text import TextEnv
from quincunx_env.notation.record import Record, Seeded
from tests.pictures import position
from tests.variants import EVERY_GAME, new_game

formatters = pytest.importorskip("IPython.core.formatters")


def shown(thing: object) -> dict[str, Any]:
    """What a notebook shows of an object, by MIME type."""
    data, _ = formatters.DisplayFormatter().format(thing)
    return dict(data)


def picture(thing: object) -> str:
    """The picture of an object in a notebook."""
    return str(shown(thing)["image/svg+xml"])


@pytest.mark.parametrize("name", ["solitaire", "open-3", "spiral-play-2"])
def test_a_game_is_shown_with_all_hands(name: str) -> None:
    game = position(name)
    assert picture(game) == render.to_svg(game)


@pytest.mark.parametrize("name", list(EVERY_GAME)[::5])
def test_every_kind_of_deal_is_shown(name: str) -> None:
    """As the first position of a game; which options score makes no difference to a deal."""
    game = new_game(EVERY_GAME[name], 3)
    drawn = picture(game.deals[0])
    assert drawn.count("data-card") == len(game.hand(game.mover))
    assert drawn.count('class="cell taken"') == sum(card >= 0 for card in game.board[: game.rules.num_cells])


def test_a_deal_of_no_game_has_no_picture() -> None:
    deal = new_game(Rules(2), 0).deals[0]
    assert "image/svg+xml" not in shown(type(deal)(deal.face_up[:3], deal.hands, deal.pile))


def test_a_record_is_shown_at_its_end() -> None:
    record = Record(Rules(), Seeded(0), actions=(33,))
    assert picture(record) == render.to_svg(record.game())


def test_environments_show_their_game_after_a_reset() -> None:
    environments: tuple[Any, ...] = (
        SolitaireEnv(),
        VsOpponentsEnv(opponents=uniform, num_players=2),
        TextEnv(),
        quincunx_v0.env(num_players=3),
        spiral_v0.raw_env(),
    )
    for env in environments:
        assert "image/svg+xml" not in shown(env)
        env.reset(seed=2)
        assert picture(env) == render.to_svg(env.unwrapped.game)


def test_the_first_of_many_games_are_shown_side_by_side() -> None:
    for env in (SolitaireVectorEnv(9), VsOpponentsVectorEnv(3, opponents=uniform)):
        assert "text/html" not in shown(env)
        env.reset(seed=2)
        page = shown(env)["text/html"]
        pictures = [b64decode(code).decode() for code in re.findall(r'base64,([^"]+)"', page)]
        assert pictures == [
            render.to_svg(env.to_game(row), portion="grid", scale=0.5) for row in range(min(env.num_envs, 4))
        ]
        assert "0</figure>" in page


def test_results_are_shown_as_tables() -> None:
    results = arena.evaluate(uniform, 3)
    assert "| 3 |" in shown(results)["text/markdown"]
    comparison = arena.compare([uniform, "greedy"], 2, rules=Rules(2))
    assert shown(comparison)["text/markdown"] == comparison.table()
