"""Pictures: equal to their references, correct, without hidden information, and in every environment."""

import itertools
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pygame
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env
from PIL import Image

from quincunx_agents.uniform import uniform
from quincunx_env import Rules, quincunx_v0, render, spiral, spiral_v0
from quincunx_env.core.scene import Suit
from quincunx_env.core.scoring import Part
from quincunx_env.envs.solitaire import SolitaireEnv
from quincunx_env.notation.text import play_score, to_text
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.render import SUITS as DECKTET_SUITS
from quincunx_env.registry import spec_of
from quincunx_env.render.layout import layout_scene
from quincunx_env.render.raster import rasterise
from quincunx_env.spiral import scoring as spiral_scoring
from quincunx_env.spiral.render import SUITS as PACK_SUITS
from tests.pictures import (
    FOLDER,
    PICTURES,
    RASTERISED,
    TOLERANCE,
    difference,
    position,
    reference,
    small,
    without_letters,
)
from tests.variants import EVERY_GAME, new_game, positions, random_action

ROOT = Path(__file__).parents[2]


# --- Reference pictures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_equal_their_references(name: str) -> None:
    """After an intended change run ``python -m tests.pictures``, and inspect the new references."""
    assert without_letters(PICTURES[name]()) == reference(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RASTERISED)
def test_pixels_equal_their_references(name: str) -> None:
    with Image.open(reference(name, ".png")) as image:
        assert difference(small(rasterise(PICTURES[name]())), image) < TOLERANCE


def test_every_reference_belongs_to_a_picture() -> None:
    pixels = {reference(name, ".png") for name in RASTERISED}
    assert set(FOLDER.iterdir()) == {reference(name) for name in PICTURES} | pixels


# --- Contents of pictures --------------------------------------------------------------------------------------------


def points_by_name(parts: Iterable[Part]) -> dict[str, int]:
    """Points by the name of the part; only those that are not 0."""
    by_name: dict[str, int] = {}
    for part in parts:
        by_name[part.name] = by_name.get(part.name, 0) + part.points
    return {name: points for name, points in by_name.items() if points}


@pytest.mark.parametrize(
    "name", ["solitaire+flush", "corners-4+excuse+pawns+flush", "open-2+flush", "spiral-play+fifteens-1"]
)
def test_the_parts_of_a_play_are_its_score_and_come_from_cards(name: str) -> None:
    """Names, points, draws and cells of any play, against `Game.score`."""
    rules = EVERY_GAME[name]
    found: set[str] = set()
    for seed in range(2):
        for game in positions(rules, seed):
            cells = () if game.over else (game.cell,) if isinstance(game, spiral.Game) else game.legal_cells()
            for card, cell in itertools.product(game.legal_cards(), cells):
                if isinstance(game, spiral.Game):
                    parts = spiral_scoring.parts(game.board, cell, card, game.rules.fifteens)
                    by_name = points_by_name(parts)
                    assert by_name == game.score(card).parts
                    assert sum(by_name.values()) == game.score(card).points
                else:
                    assert isinstance(rules, Rules)
                    parts = scoring.parts(rules, game.board, cell, card)
                    by_name = points_by_name(parts)
                    assert [*by_name.items()] == [*game.score(card, cell).parts.items()]
                    assert sum(part.draws for part in parts) == len(game.score(card, cell).draws)
                played = play_score(game, spec_of(rules).notation.encode_play(rules, card, cell))
                assert played is not None
                assert played.parts == by_name, "one vocabulary"
                for part in parts:
                    found.add(part.name)
                    assert cell not in part.cells
                    assert part.cells
                    assert all(game.board[other] >= 0 for other in part.cells)
    assert len(found) >= 4


def test_the_cells_of_lines() -> None:
    """The longest run, the first of two straights that meet, and the box of a flush."""
    ranks = [4, 5, 6, 7, 6, 5, None, None, None]
    assert scoring.line_run(ranks, 3) == (20, range(4))
    assert scoring.line_run([None, 2, 2, 2, 2, 3, 4, 5, None], 4) == (30, range(1, 5))
    assert scoring.line_run([None, 1, 2, 4, 5, 7, 6, 8, None], 4) == (0, range(0))
    assert scoring.flush_run([0, 1, 3, 3, 3, 2, 2, 0, 2], 4) == range(2, 7)


@pytest.mark.parametrize(
    "rules", [Rules(2), Rules(3, "open", simpleton=True), Rules(4, excuse=True, pawns=True), spiral.Rules()]
)
def test_a_picture_from_a_seat_shows_nothing_hidden(rules: Any) -> None:
    """With other cards in the other hands and in the pile it is the same; with all hands it is not."""
    rng = random.Random(1)
    for seed in range(3):
        game = new_game(rules, seed)
        for _ in range(9):
            game.step(random_action(game, rng))
        seat = (game.mover + seed) % rules.num_players
        others = [other for other in range(rules.num_players) if other != seat]
        twin = game.copy()
        known = {*game.hand(seat), *(getattr(game, "pending", None) or ())[:1], *game.board}
        hidden = [card for card in rules.deck if card not in known]
        mixed = rng.sample(hidden, len(hidden))
        for other in others:
            count = sum(twin.hands[other])
            twin.hands[other][:] = bytes(len(twin.hands[other]))
            for card in (mixed.pop() for _ in range(count)):
                twin.hands[other][card] = 1
        assert render.to_svg(game, seat) == render.to_svg(twin, seat)
        assert render.to_svg(game) != render.to_svg(twin)


def test_a_large_hand_overlaps_and_stays_inside() -> None:
    game = new_game(Rules(), 0)
    for card in game.pile:
        game.hands[0][card] = 1
    where = layout_scene(spec_of(game.rules).scene(game))
    assert len({(round(rect.x), rect.y) for rect in where.hand.values()}) == 32, "the left edge of each is seen"
    assert all(rect.right <= render.WIDTH and rect.bottom <= render.HEIGHT for rect in where.hand.values())


def test_everything_lies_inside_and_nothing_overlaps() -> None:
    """Cells, boxes and hands of every variant at every moment, from a seat and with all hands."""
    for name in list(EVERY_GAME)[::9]:
        for game in positions(EVERY_GAME[name], 3):
            for seat in (None, game.mover):
                where = layout_scene(spec_of(game.rules).scene(game, seat))
                cards = [rect for hand in where.hands for rect in hand]
                for rect in (*where.cells.values(), *where.seats, where.play, where.pile, *cards):
                    assert 0 <= rect.x < rect.right <= render.WIDTH
                    assert 0 <= rect.y < rect.bottom <= render.HEIGHT
                hand = where.hands[where.large] if where.large is not None else ()
                large = [*where.cells.values(), *where.seats, where.play, *hand[:1]]
                for one, other in itertools.combinations(large, 2):
                    apart = one.right <= other.x or other.right <= one.x
                    assert apart or one.bottom <= other.y or other.bottom <= one.y


def test_values_and_candidates() -> None:
    """Numbers for some cells or for all; taken cells show their cards."""
    game = new_game(Rules(), 0)
    plain = render.frame(game)
    some = render.frame(game, values={5: 1.0, 6: 2.0, 0: 9.0})
    every = render.frame(game, values=[9.0 if cell == 0 else {5: 1.0, 6: 2.0}.get(cell, np.nan) for cell in range(16)])
    assert np.array_equal(some, every)
    for cell, rect in layout_scene(spec_of(game.rules).scene(game)).cells.items():
        inside = np.s_[round(rect.y) : round(rect.bottom), round(rect.x) : round(rect.right)]
        assert np.array_equal(plain[inside], some[inside]) == (cell not in (5, 6))
    assert not np.array_equal(render.frame(game, play=(game.hand(0)[0], 5)), plain)
    with pytest.raises(ValueError, match="reshape"):
        render.frame(game, values=[1.0, 2.0])


def test_values_of_cards_show_the_best_card_their_unit_and_cells_without_one() -> None:
    game = new_game(Rules(), 0)
    first, second = game.hand(0)[:2]
    values = np.full((game.rules.num_cards, game.rules.num_cells), np.nan)
    values[first, 5], values[second, 5], values[first, 6] = 1.0, 2.0, -3.0
    picture = render.to_svg(game, values=values, unit="points", portion="grid")
    shown = dict(
        re.findall(
            r'<g class="cell \w+" data-cell="(\d+)"[^>]*>(.*?)(?=<g class="cell|<g class="marks")', picture, re.DOTALL
        )
    )
    words = [spec_of(game.rules).scene(game).faces[card].words for card in (second, first)]
    assert [re.findall("<title>(.*)</title>", shown[cell]) for cell in ("5", "6")] == [[word] for word in words]
    assert all('aria-label="no value"' in shown[str(cell)] for cell in game.legal_cells() if cell not in (5, 6))
    assert picture.count('aria-label="points"') == 1
    assert "no value" not in render.to_svg(game, values={5: 1.0})
    assert 'aria-label="-0' not in render.to_svg(game, values={5: -0.0, 6: -0.04})


@pytest.mark.parametrize("scale", [0.5, 1.0, 1.7])
def test_pictures_of_any_size(scale: float) -> None:
    game = new_game(Rules(2), 0)
    assert render.frame(game, scale=scale).shape == (round(640 * scale), round(960 * scale), 3)


# --- Files -----------------------------------------------------------------------------------------------------------


def test_pictures_are_written_as_svg_and_png(tmp_path: Path) -> None:
    game = position("corners-3")
    for suffix in ("svg", "png"):
        render.save(tmp_path / f"game.{suffix}", game, 1, theme="light")
    assert (tmp_path / "game.svg").read_text(encoding="utf-8") == render.to_svg(game, 1, theme="light")
    with Image.open(tmp_path / "game.png") as image:
        assert np.array_equal(np.asarray(image), render.frame(game, 1, theme="light"))
    for name in ("game.jpg", "game.pdf"):
        with pytest.raises(ValueError, match=rf"must end in .svg or .png, got {name}"):
            render.save(name, game)


def test_what_is_no_svg_is_not_rasterised() -> None:
    with pytest.raises(ValueError, match="cannot be rasterised"):
        rasterise("nothing")


LMS = {
    "all colours": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""Simulation of colour blindness on linear red, green and blue (Machado, Oliveira and Fernandes 2009)."""


def lab(colour: tuple[int, int, int], eyes: Any) -> Any:
    """A colour in CIE L*a*b*, in which equal distances look equally large."""
    share = np.array(colour) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = np.array(to_xyz) @ np.clip(np.array(eyes) @ linear, 0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("suits", [DECKTET_SUITS, PACK_SUITS], ids=["Decktet", "pack"])
@pytest.mark.parametrize("eyes", LMS)
def test_suits_stay_apart_for_colour_blind_eyes(suits: tuple[Suit, ...], eyes: str) -> None:
    """By colour alone (a difference of 2 can just be seen), and by shape alone."""
    for one, other in itertools.combinations(suits, 2):
        assert np.linalg.norm(lab(one.colour, LMS[eyes]) - lab(other.colour, LMS[eyes])) > 15
        assert one.emblem != other.emblem


# --- Text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["corners-2+excuse+pawns", "spiral-play-1"])
def test_colours_add_nothing_to_the_text(name: str) -> None:
    """Without the escape sequences it is the plain text."""
    game = position(name)
    coloured = render.text(game, colour=True)
    assert "\033[" in coloured
    assert re.sub(r"\033\[[0-9;]*m", "", coloured) == render.text(game, colour=False) == to_text(game)


@pytest.mark.parametrize("name", ["corners-2", "spiral-play-1"])
def test_seats_cards_and_cells_that_do_not_exist_are_refused(name: str) -> None:
    game = new_game(EVERY_GAME[name], 0)
    taken = next(cell for cell, card in enumerate(game.board) if card >= 0)
    seats: tuple[Any, ...] = (2, -1, "AM")
    for seat in seats:
        for show in (render.frame, render.to_svg, render.text):
            with pytest.raises(ValueError, match="seat must be an integer from 0 to 1, got"):
                show(game, seat)
    for play, message in (((0, taken), "is taken"), ((0, 25), "cell must be"), ((99, 1), "not in the deck")):
        with pytest.raises(ValueError, match=message):
            render.frame(game, play=play)
    for cell in (-1, 25, 0.5, "A"):
        with pytest.raises(ValueError, match="cell must be an integer from 0 to 24, got"):
            render.frame(game, values={cell: 1.0})  # type: ignore[dict-item]
        with pytest.raises(ValueError, match="cell must be an integer from 0 to 24, got"):
            spec_of(game.rules).scene(game).place(cell)  # type: ignore[arg-type]


def test_the_text_has_the_last_play_with_its_parts() -> None:
    game = new_game(Rules(), 0)
    assert "last" not in render.text(game, colour=False)
    game.play(game.hand(0)[7], 13)  # CS beside 3MV
    played = [line for line in render.text(game, colour=False).splitlines() if "CS" in line or "+" in line]
    score = new_game(Rules(), 0).score(game.board[13], 13)
    assert "[CS]" in played[0]
    assert played[1] == f"  last: seat 0 played CS at (3, 1): {score.points} points and 1 draw"


@pytest.mark.parametrize(
    ("variables", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
    ids=str,
)
def test_colour_where_the_terminal_has_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], terminal: bool, expected: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert render.in_colour() == expected
    assert ("\033" in render.text(new_game(Rules(), 0))) == expected


# --- Environments ----------------------------------------------------------------------------------------------------


def environments(mode: str) -> list[Any]:
    """An environment of one game of each kind."""
    return [
        gymnasium.make("Quincunx/Solitaire-v0", render_mode=mode),
        gymnasium.make("Quincunx/VsOpponents-v0", opponents=uniform, num_players=3, render_mode=mode),
        gymnasium.make("Quincunx/VsOpponents-v0", opponents=uniform, game="spiral", render_mode=mode),
        quincunx_v0.env(num_players=4, simpleton=True, render_mode=mode),
        spiral_v0.env(render_mode=mode),
    ]


def on_screen() -> Any:
    """The contents of the window, uint8 [height, width, 3]."""
    surface = pygame.display.get_surface()
    assert surface is not None
    return pygame.surfarray.array3d(surface).transpose(1, 0, 2)


def play_on(env: Any) -> None:
    """A legal action, with a reset where a game is over."""
    if isinstance(env.unwrapped, gymnasium.Env):
        mask = env.get_wrapper_attr("action_masks")().view(np.int8)
        if not mask.any():
            env.reset()
            return
        env.step(env.action_space.sample(mask=mask))
    else:
        observation, _, over, _, _ = env.last()
        env.step(None if over else env.action_space(env.agent_selection).sample(observation["action_mask"]))


@pytest.mark.parametrize("number", range(5))
def test_pictures_at_every_door(number: int) -> None:
    """Those of the game with all hands; new ones each time."""
    env = environments("rgb_array")[number]
    assert "rgb_array" in env.metadata["render_modes"]
    env.reset(seed=1)
    for _ in range(4):
        picture = env.render()
        assert picture.dtype == np.uint8
        assert np.array_equal(picture, render.frame(env.unwrapped.game))
        play_on(env)
    assert env.render() is not picture
    env.close()
    env.close()


def test_a_vector_environment_returns_a_picture_of_each_game() -> None:
    envs = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=3, render_mode="rgb_array")
    envs.reset(seed=4)
    pictures = envs.render()
    assert isinstance(pictures, tuple)
    for row, picture in enumerate(pictures):
        assert np.array_equal(picture, render.frame(new_game(Rules(), 4 + row)))


@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_gymnasiums_checker_passes(mode: str) -> None:
    check_env(gymnasium.make("Quincunx/Solitaire-v0", illegal="next", render_mode=mode).unwrapped)
    learner = gymnasium.make("Quincunx/VsOpponents-v0", opponents=uniform, illegal="next", render_mode=mode)
    check_env(learner.unwrapped, skip_render_check=True)
    learner.reset(seed=0)
    assert (learner.render() is None) == (mode == "human")


@pytest.mark.parametrize("number", range(5))
def test_a_window_shows_every_move_and_may_be_closed(number: int) -> None:
    """By the user, by other code that uses pygame, or by the environment; games continue in each case."""
    env = environments("human")[number]
    env.reset(seed=2)
    before = on_screen()
    assert before.shape == (640, 960, 3)
    play_on(env)
    after = on_screen()
    assert not np.array_equal(before, after)
    assert np.array_equal(after, render.frame(env.unwrapped.game))
    assert env.render() is None
    twin = deepcopy(env.unwrapped)
    pygame.quit()
    play_on(env)
    assert pygame.display.get_surface() is not None
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    play_on(env)
    assert not pygame.display.get_init()
    play_on(env)
    assert not pygame.display.get_init()
    env.close()
    env.close()
    twin.render()
    assert pygame.display.get_init()
    twin.close()
    assert not pygame.display.get_init()


def test_a_window_may_have_any_size() -> None:
    env = SolitaireEnv(render_mode="human")
    env.reset(seed=0)
    pygame.display.set_mode((700, 300), pygame.RESIZABLE)
    env.render()
    shown = on_screen()
    picture = render.frame(env.game, scale=300 / 640)
    left = (700 - picture.shape[1]) // 2
    assert np.array_equal(shown[:, left : left + picture.shape[1]], picture)
    pygame.display.set_mode((20, 10), pygame.RESIZABLE)
    env.render()
    env.close()


def test_without_a_display_the_error_names_an_alternative(monkeypatch: pytest.MonkeyPatch) -> None:
    pygame.display.quit()  # that another test may have opened
    monkeypatch.setenv("SDL_VIDEODRIVER", "nothing")
    env = SolitaireEnv(render_mode="human")
    with pytest.raises(RuntimeError, match=r"no window can be opened here .*: use render_mode='rgb_array'"):
        env.reset(seed=0)


def test_without_a_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    game = new_game(Rules(), 0)
    for name, use in (
        ("pygame", lambda: SolitaireEnv(render_mode="human").reset(seed=0)),
        ("thorvg_python", lambda: render.frame(game)),
    ):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(DependencyNotInstalled, match=re.escape('pip install "quincunx_env[render]"')):
            use()
    render.save(tmp_path / "game.svg", game)


def test_pictures_need_neither_pygame_nor_a_display_nor_fonts() -> None:
    """In a fresh interpreter, in which pygame cannot be imported."""
    program = """
import sys, gymnasium, quincunx_env.render
sys.modules["pygame"] = None
env = gymnasium.make("Quincunx/Solitaire-v0", render_mode="rgb_array")
env.reset(seed=0)
assert "thorvg_python" not in sys.modules
assert env.render().std() > 30
assert not {"PIL", "matplotlib"} & set(sys.modules)
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("SDL_VIDEODRIVER", "DISPLAY")}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert (run.stdout, run.stderr, run.returncode) == ("", "", 0)
