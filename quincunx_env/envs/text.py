r"""The games as text, for language models: prompts out, answers in.

>>> env = TextEnv()
>>> prompt, info = env.reset(seed=0)
>>> print(env.step("I lay it beside its pair.\nPlay: cs 1,3")[0])
You: CS (1, 3), +5 (pair +5, 1 draw)
<BLANKLINE>
     0    1    2    3
  0  AK   .    .    CL
  1  .    .    .    CS
  2  .    .    .    .
  3  CY   .    .    3MV
  pile: 23 cards
You, player_0: 5 points, hand: AV AL 2VL 4YK 5YK 7VY 8MS 9LK
Your action: card (row, column), or: legal, rules
"""

import re
import string
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.integers import check_integer, check_option
from quincunx_env.core.policy import Agent
from quincunx_env.envs.generator import GymnasiumEnv, delegate
from quincunx_env.envs.one_game import OneGame
from quincunx_env.envs.options import Info, check_finite, options_of, with_options
from quincunx_env.envs.renderer import METADATA
from quincunx_env.envs.solitaire import SolitaireEnv
from quincunx_env.envs.vs_opponents import VsOpponentsEnv
from quincunx_env.notation.prompts import answer_of, prompt, read_action, text_of, with_names
from quincunx_env.notation.record import apply_action
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.notation.text import print_action
from quincunx_env.registry import GAMES, spec_of
from quincunx_env.render import Frame

WRITTEN = string.ascii_letters + string.digits + string.punctuation + " \n"
"""Characters of observations."""

MAX_LENGTH = 2_000
"""Most characters of an observation; prompts with the default names have fewer than 1,800."""

MAX_ANSWER = 1_000
"""Most characters of an action that is sampled from the action space; `TextEnv.step` reads longer ones, too."""

_FIXED = ("render_mode", "observation", "preview", "actions", "mask_in", "padded", "illegal", "game")
_OPTIONS = options_of(VsOpponentsEnv, without=_FIXED) + tuple(
    each for each in options_of(SolitaireEnv, without=_FIXED) if each.name == "lost_value"
)
_OPTIONAL = ("opponents", "pool", "rules")  # None by default


class TextEnv(OneGame[SomeGame], GymnasiumEnv, gymnasium.Env[str, str]):
    """One seat of a game as text, alone or against policies.

    ## Description
    Observations are prompts, actions are answers to them, for language models and for humans. Without ``opponents`` or
    ``pool`` it is the game of `quincunx_env.envs.solitaire.SolitaireEnv`, with them the game of
    `quincunx_env.envs.vs_opponents.VsOpponentsVectorEnv`. The same seeds give the same deals, the same actions the
    same rewards.

    ## Action Space
    ``Text``. The answer is the content of the last ``<action>`` tag, otherwise the last line with a letter or a digit,
    or a JSON object at the end. Blocks of reasoning, such as ``<think>...</think>``, are left out. The answer holds one
    action and nothing else: ``CS (1, 3)``, ``cs 1 3``, ``Play: CS at (1, 3).``. Case is free; all but letters, digits
    and the minus before a number counts as a blank. In the spiral game an action is a card, ``9H``; with Simpleton
    ``announce 12`` follows the play. Text that may denote two actions is refused. The answers ``legal`` and ``rules``
    ask for the legal actions and for the rules card. `step` reads any string, also longer ones and with other
    characters than the space has. As chat models return them it also reads a list of content parts, whose texts are
    joined, and None, an empty answer.

    ## Observation Space
    ``Text``, ASCII. At the top the rules card, or what happened since the last prompt: each play with its points and
    the parts of its score, or the reply to a question or to an illegal answer. Below it the position as the seat knows
    it: grid (a dot where a card may be played), pile, points, hand. The last line says how to answer. With the
    default names a prompt has fewer than 1,800 characters in all variants. Since Gymnasium 1.4 cannot share memory of
    ``Text`` spaces, ``gymnasium.make_vec`` with ``vectorization_mode="async"`` returns wrong prompts unless it gets
    ``vector_kwargs={"shared_memory": False}``.

    ## Rewards
    As in the environment of the same game. A question and an illegal answer have reward 0.

    ## Starting State
    As in the environment of the same game, with the same seeds and options of ``reset``.

    ## Episode End
    When the game is over, or when an answer is illegal and ``max_mistakes`` were made before: the game is then lost. A
    lost round of the solitaire returns ``lost_value``. It is never truncated; since questions and, without
    ``max_mistakes``, illegal answers change nothing, give ``gymnasium.make`` a ``max_episode_steps`` for agents that
    may never play.

    ## Information
    ``illegal``: whether the answer was illegal; ``mistakes``: illegal answers in this game; ``action``: the action that
    was taken, as text, or an empty string. The last info of a game adds the entries of the environment of the same
    game.

    ## Version History
    v0: first release.

    Args:
        game: ``"quincunx"`` or ``"spiral"``, a name in `quincunx_env.registry.GAMES`.
        rules_card: the rules card stands in the ``"first"`` prompt of each game, in all (``"always"``, instead of what
            happened), or in none (``"never"``).
        names: names of the players in prompts, by seat; ``player_0``, ``player_1`` and so on by default, the agents of
            the PettingZoo environments.
        max_mistakes: illegal answers that each game forgives; the next one loses it. None forgives all.
        opponents: the policies of the other seats, as in `quincunx_env.envs.vs_opponents.VsOpponentsVectorEnv`; None,
            without a ``pool``, for the solitaire.
        pool: instead of ``opponents``: policies from which each game samples one for all other seats.
        seat: against opponents: the agent's seat, or ``"rotate"``, a seat further in each game.
        reward: against opponents: ``"margin"``, ``"points"`` or ``"outcome"``, see `quincunx_env.envs.rewards.REWARDS`.
        illegal_reward: added to the reward when a mistake loses a game against opponents.
        lost_value: the return of a lost round of the solitaire.
        rules: the options of the rules together, instead of one by one.
        options: options of the game's rules.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None, as in
            `quincunx_env.envs.solitaire.SolitaireEnv`.
    """

    metadata: dict[str, Any] = METADATA

    @with_options(*_OPTIONS, of_game=True)
    def __init__(
        self,
        *,
        game: str = "quincunx",
        rules_card: Literal["first", "always", "never"] = "first",
        names: Sequence[str] | None = None,
        max_mistakes: int | None = None,
        illegal_reward: float = -1.0,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        check_option("game", game, *GAMES)
        check_option("rules_card", rules_card, "first", "always", "never")
        if max_mistakes is not None:
            max_mistakes = check_integer("max_mistakes", max_mistakes, 0, 2**31 - 1)
        check_finite("illegal_reward", illegal_reward)
        given = {name: value for name, value in options.items() if value is not None or name not in _OPTIONAL}
        given |= {"render_mode": render_mode, "mask_in": "obs"}  # infos without masks
        self.env: SolitaireEnv | VsOpponentsEnv
        if "opponents" in given or "pool" in given:
            self.env = VsOpponentsEnv(game=game, **given)
        elif game != "quincunx" or repr(given.pop("num_players", 1)) != "1":
            raise ValueError("several players need opponents= or pool=, as in opponents='greedy'")
        else:
            self.env = SolitaireEnv(**given)
        self.rules, self.render_mode, self.metadata = self.env.rules, render_mode, self.env.metadata
        self.names = _check_names(names, self.rules.num_players)
        self.rules_card, self.max_mistakes, self.mistakes = rules_card, max_mistakes, 0
        self.illegal_reward = illegal_reward
        self.observation_space = Text(MAX_LENGTH, charset=WRITTEN)
        self.action_space = Text(MAX_ANSWER, min_length=0, charset=string.printable)
        self._spec = spec_of(self.rules)

    @property
    def seat(self) -> int:
        """The seat of the agent in this game."""
        return self.env.seat if isinstance(self.env, VsOpponentsEnv) else 0

    def set_pool(self, policies: Sequence[Agent | str], probabilities: npt.ArrayLike | None = None) -> None:
        """Replace the pool; see `quincunx_env.envs.vs_opponents.VsOpponentsVectorEnv.set_pool`."""
        if not isinstance(self.env, VsOpponentsEnv):
            raise ValueError("the solitaire has no opponents: make the environment with pool=")
        self.env.set_pool(policies, probabilities)

    # Gymnasium's generator and its seed are those of the environment below.
    _np_random = delegate("env", "_np_random")
    _np_random_seed = delegate("env", "_np_random_seed")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Deal a game, and play up to the agent's first turn.

        Args:
            seed: starts the sequence of games of this seed; None deals the next game of the sequence.
            options: ``{"deal": ...}``: the deal to play, or a list of one for each round of a match.

        Returns:
            The first prompt and the info.

        Raises:
            ValueError: if the seed, a deal or an option is invalid; nothing has changed then.
        """
        self.env.reset(seed=seed, options=options)
        self._game, self.mistakes = self._spec.Game(self.rules, self.env.game.deals), 0
        report = self._follow(self._replies()) or "A new game."
        return self._prompt(report if self.rules_card == "never" else rules_card(self.rules)), self._info()

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Read an answer, and take the action if it is legal.

        Then the opponents play up to the agent's next turn.

        Returns:
            The next prompt, reward, terminated, truncated (always False) and info.

        Raises:
            IllegalAction: if the action is neither text nor content parts; nothing has changed then.
            ResetNeeded: before the first reset and after the end of a game.
        """
        if self.game.over:
            raise ResetNeeded("the game is over: call reset() before the next step()")
        action = text_of(action)
        question = answer_of(action)
        if question in ("RULES", "LEGAL"):
            reply = rules_card(self.rules) if question == "RULES" else self._spec.notation.describe_legal(self.game)
            return self._prompt(self._named(reply)), 0.0, False, False, self._info()
        try:
            chosen = read_action(self.game, action)
        except IllegalAction as error:
            return self._refuse(str(error))
        _, reward, over, _, info = self.env.step(chosen)
        report = self._follow([chosen, *self._replies()])
        always = self.rules_card == "always" and not over
        text = self._prompt(rules_card(self.rules) if always else report)
        return text, float(reward), over, False, self._info(print_action(self.game, chosen)) | _plain(info)

    def _refuse(self, reason: str) -> tuple[str, float, bool, bool, Info]:
        """Answer an illegal action. The state is unchanged, unless the game is forfeited."""
        self.mistakes += 1
        reason = f"Illegal: {self._named(reason)}."
        if self.max_mistakes is None or self.mistakes <= self.max_mistakes:
            allowed = "" if self.max_mistakes is None else f" Mistake {self.mistakes} of {self.max_mistakes} allowed."
            reply = f"{reason}\nLegal, for example: {self._example()}.{allowed}"
            return self._prompt(reply), 0.0, False, False, self._info() | {"illegal": True}
        env, penalty = self.env, self.illegal_reward
        reward, info = env.forfeit(penalty) if isinstance(env, VsOpponentsEnv) else env.forfeit()
        self.game.forfeit()
        text = f"{reason}\nThis was mistake {self.mistakes}, {self.max_mistakes} were allowed: you forfeit the game."
        return text, reward, True, False, self._info() | _plain(info) | {"illegal": True}

    def get_state(self) -> dict[str, Any]:
        """Return a snapshot for `set_state`; see the environment of the same game."""
        return self.env.get_state() | {"mistakes": self.mistakes}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a snapshot of this or another environment with the same rules.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        mistakes = check_integer("mistakes of the snapshot", dict(state).pop("mistakes", -1), 0, 2**31 - 1)
        self.env.set_state(state)
        self._game, self.mistakes = self.env.game.copy(), mistakes

    # --- Text --------------------------------------------------------------------------------------------------------

    def _info(self, action: str = "") -> Info:
        return {"illegal": False, "mistakes": self.mistakes, "action": action}

    def _replies(self) -> list[int]:
        """Return the actions of the opponents since the agent's last one."""
        return self.env.replies if isinstance(self.env, VsOpponentsEnv) else []

    def _follow(self, actions: Iterable[int]) -> str:
        """Take the actions that the environment took; return a line for each."""
        lines = []
        for action in actions:
            turn = apply_action(self.game, 0, action, explain=True)
            points = [gain + penalty for gain, penalty in zip(turn.gains, turn.penalties, strict=True)]
            line = f"{self._who(turn.seat)}: {turn.text}" + (f", {turn.score}" if turn.score else "")
            if turn.score and points != [turn.score.points * (seat == turn.seat) for seat in range(len(points))]:
                gained = (f"{self._who(seat)} {gain:+}" for seat, gain in enumerate(points) if gain)
                line += f"; counted: {', '.join(gained) or 'nothing'}"  # Simpleton
            lines.append(line)
        return "\n".join(lines)

    def _prompt(self, top: str) -> str:
        return prompt(self.game, self.seat, self.names, top)

    def _who(self, seat: int) -> str:
        return "You" if seat == self.seat else self.names[seat]

    def _named(self, text: str) -> str:
        return with_names(text, self.names)

    def _example(self) -> str:
        """Return the first legal action."""
        if getattr(self.game, "pending", None):
            return "announce 0"
        return print_action(self.game, next(iter(self._spec.notation.legal_plays(self.game))))

    # --- Pictures ----------------------------------------------------------------------------------------------------

    def render(self) -> str | Frame | None:
        """Return text, a picture or None, depending on ``render_mode``.

        A picture is uint8 [height, width, 3]. All hands are shown.
        """
        return self.env.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.env.close()


def _check_names(names: Sequence[str] | None, players: int) -> list[str]:
    """Return the names of the players, by seat.

    Raises:
        ValueError: if there is not one for each, or one cannot be printed in a prompt.
    """
    if names is None:
        return [f"player_{seat}" for seat in range(players)]
    good = isinstance(names, Sequence) and not isinstance(names, str) and len(names) == players
    good = good and all(isinstance(name, str) and re.fullmatch(r"[!-~]([ -~]{0,14}[!-~])?", name) for name in names)
    if not good or len({*names}) < players:
        raise ValueError(f"names must be {players} different strings of 1 to 16 ASCII characters, got {names!r}")
    return [*names]


def _plain(info: Info) -> Info:
    """Return the info with lists instead of arrays."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in info.items()}
