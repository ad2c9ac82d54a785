"""OpenSpiel games, OpenSpiel bots as policies, and agents as OpenSpiel bots.

Importing this module registers ``python_quincunx``, ``python_spiral`` and ``python_quincunx_mini``, which is the mini
variant for two players as a game of two deals. Their parameters are the options of the game's ``Rules`` and of
`CardGame`::

    import pyspiel
    import quincunx_env.adapters.openspiel

    game = pyspiel.load_game("python_quincunx(num_players=2,start=open,reward=outcome)")
    state = game.new_initial_state()

OpenSpiel stores a state as text that contains pickled data: read such text only from sources that you trust.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from math import comb
from operator import sub
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.utils.extras import needs_extra

with needs_extra("openspiel", __name__):
    import pyspiel

from quincunx_env.core.arrays import Ints
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import MAX_SEED
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.integers import check_integer, check_option
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Agent, Policy, policy_for
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.spec import GameSpec
from quincunx_env.envs.rewards import REWARDS, margin, outcome
from quincunx_env.notation.text import to_text
from quincunx_env.policies import resolve
from quincunx_env.registry import GAMES, make_observer, spec_of

Type = pyspiel.GameType
OPTIONS: dict[str, Any] = {
    "chance": "number",
    "games": 1000,
    "seed": 0,
    "face_up": "",
    "reward": "margin",
    "dense": False,
    "players": 0,
}
"""Parameters of `CardGame` beside the options of the rules, with their defaults."""


MINI: dict[str, Any] = {"mini": True, "num_players": 2, "games": 2}
"""Defaults of ``python_quincunx_mini``: a tree that tabular algorithms walk in a second."""


def _type(
    spec: GameSpec, name: str, defaults: dict[str, Any], rules: Any = None, zero_sum: bool = True, dense: bool = False
) -> Any:
    """Return the type of a game with these rules, or of all variants without ``rules``."""
    parameters = {field.name: field.default for field in fields(spec.Rules)}
    return Type(
        short_name=name,
        long_name=name.replace("_", " ").title(),
        dynamics=Type.Dynamics.SEQUENTIAL,
        chance_mode=Type.ChanceMode.EXPLICIT_STOCHASTIC,
        information=Type.Information.IMPERFECT_INFORMATION,
        utility=Type.Utility.ZERO_SUM if zero_sum else Type.Utility.GENERAL_SUM,
        reward_model=Type.RewardModel.REWARDS if dense else Type.RewardModel.TERMINAL,
        min_num_players=rules.num_players if rules else 1,
        max_num_players=rules.num_players if rules else 4,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=parameters | OPTIONS | defaults,
    )


class CardGame(pyspiel.Game):  # type: ignore[misc]  # types are checked without OpenSpiel
    """A game of OpenSpiel.

    Actions have the numbers of the engines and the text of the notation.

    Args:
        parameters: options of its ``Rules``, and:

            - ``chance``: ``"number"``: the first node draws the number of a seeded game, which determines all cards.
              ``"cards"``: every card is the outcome of a separate node, when a seat or the table gets it; cards that
              are dealt or drawn together come in ascending order, so that a set of cards is one history.
            - ``games``: with ``"number"``: numbers are drawn from 0 to ``games - 1``, uniformly.
            - ``seed``: with ``"number"``: of these games, see `quincunx_env.core.deal`.
            - ``face_up``: with ``"cards"``: the first cards that are dealt face up, such as ``"AM 5SV"``.
            - ``reward``: one of `quincunx_env.envs.rewards.REWARDS`. In the solitaire, where ``"margin"`` is the same
              as ``"points"``, a lost round returns 0.
            - ``dense``: rewards after every action instead of the returns at the end.
            - ``players``: the number of players, by the name that OpenSpiel's examples use; 0 for ``num_players``.

    Attributes:
        spec: the game's classes and functions.
        name: under which OpenSpiel knows it.
        defaults: of parameters, where they differ from ``Rules`` and `OPTIONS`.
        rules: the rules.
        observer: makes the observations from which states are resampled.

    Raises:
        ValueError: for an invalid option.
    """

    spec: GameSpec
    name: str
    defaults: Mapping[str, Any]

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        given, spec = OPTIONS | dict(self.defaults) | dict(parameters), self.spec
        players = given["players"]
        if players and given.get("num_players") == 1:  # OpenSpiel fills in the default
            given["num_players"] = players
        self.rules: Any = spec.Rules(**{name: value for name, value in given.items() if name not in OPTIONS})
        self.chance, self.reward, self.dense = given["chance"], given["reward"], given["dense"]
        self.games = check_integer("games", given["games"], 1, MAX_SEED - 1)
        self.seed = check_integer("seed", given["seed"], 0, MAX_SEED - 1)
        check_option("chance", self.chance, "number", "cards")
        check_option("reward", self.reward, *REWARDS)
        check_option("dense", self.dense, True, False)
        rules, self.observer = self.rules, make_observer(self.rules)
        if players not in (0, rules.num_players):
            raise ValueError(f"players={players} does not fit a game of {rules.num_players}: leave one of them out")
        players = rules.num_players
        if players == 1:
            check_option("reward of the solitaire", self.reward, "points", "margin")
            self.reward = "points"
        if self.dense and self.reward == "outcome":
            raise ValueError("reward='outcome' comes at the end: leave out dense=True, or choose reward='margin'")
        self.numbers = [(number, 1 / self.games) for number in range(self.games if self.chance == "number" else 0)]
        first = spec.Deal.of_cards(rules, rules.deck)
        self.undealt = spec.Game(rules, (first,) * rules.num_rounds)
        """A game that stands for games whose cards are not known yet."""
        self.groups = (1,) * first.cards.index(first.hands[0][0]) + (rules.hand_size,) * players  # type: ignore[attr-defined]
        """Sizes of the sets of cards that a round begins with: each face-up card, the hand of each seat."""
        self.face_up = spec.notation.NAMES.parse_cards(given["face_up"])
        if self.face_up and (self.chance != "cards" or len(self.face_up) > self.groups.count(1)):
            raise ValueError(f"face_up needs chance='cards' and at most {self.groups.count(1)} cards")
        if len({*self.face_up} & {*rules.deck}) != len(self.face_up):
            raise ValueError(f"face_up must hold different cards of the deck, got {given['face_up']!r}")
        low, high = rules.points_range
        least, most = {
            "points": (low, high),
            "margin": (low - high, high - low),
            "outcome": (-1 / (players - 1 or 1), 1),
        }[self.reward]
        zero_sum = self.reward != "points"
        actions = rules.num_rounds * rules.num_plays * len(rules.decisions)
        info = pyspiel.GameInfo(
            num_distinct_actions=rules.num_actions,
            max_chance_outcomes=self.games if self.chance == "number" else rules.num_cards,
            num_players=players,
            min_utility=float(least),
            max_utility=float(most),
            utility_sum=0.0 if zero_sum else None,
            max_game_length=actions,
        )
        super().__init__(
            _type(spec, self.name, dict(self.defaults), rules, zero_sum, self.dense), info, dict(parameters)
        )

    def new_initial_state(self, *_: Any) -> "CardGameState":
        """Return a state before the first card is dealt."""
        return CardGameState(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # OpenSpiel's own pickles leave out the attributes. A function of this module, because it registers the game.
        return _load_game, (str(self),)

    def max_chance_nodes_in_history(self) -> int:
        """Return an upper limit of the chance nodes of a game."""
        return 1 if self.chance == "number" else self.rules.num_rounds * self.rules.num_dealt

    def make_py_observer(self, kind: Any = None, params: Any = None) -> Any:
        """Return the observer of a type of observations, which has no parameters."""
        if params:
            raise ValueError(f"observations have no parameters, got {params}")
        return _Observer(self, kind or pyspiel.IIGObservationType(perfect_recall=False))


def _load_game(text: str) -> Any:
    return pyspiel.load_game(text)


class CardGameState(pyspiel.State):  # type: ignore[misc]
    """A state of a `CardGame`.

    An information state is the complete history that a seat has observed. It has the face-up cards, all actions, and
    the points at the end of earlier rounds. It also has the seat's own cards and when the seat got them. An observation
    is the present position.

    Attributes:
        game: the game in plain Python; at a chance node some of its hidden cards stand for others.
        laid: int16 [rounds, cells, 3]: card + 1, ply and announcement of each cell, 0 where there is none.
        got: int8 [rounds, seats, cards]: 1 + ply at which the seat got the card, 0 if it never did.
        ended: int16 [rounds, seats]: points in the rounds that have ended.
    """

    def __init__(self, game: CardGame) -> None:
        super().__init__(game)
        rules = game.rules
        size = rules.num_rounds, rules.num_players
        self.game: Any = game.undealt.copy()
        self.laid = np.zeros((size[0], rules.num_cells, 3), np.int16)
        self.got = np.zeros((*size, rules.num_cards), np.int8)
        self.ended = np.zeros(size, np.int16)
        self.gains = (0.0,) * rules.num_players
        self.chosen = game.face_up  # cards that are dealt or drawn now, in order
        self.due = game.groups[len(self.chosen) :] if game.chance == "cards" else (1,)  # sizes of their sets, the rest
        self.last = EMPTY  # the highest card chosen of the present set
        self.waiting = -1  # the action that draws them; -1 if they are dealt
        if not self.due:
            self._end_chance()

    # --- Chance ------------------------------------------------------------------------------------------------------

    @property
    def dealt(self) -> bool:
        """Whether the round has been dealt."""
        return not self.due or self.waiting >= 0

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """List the possible outcomes, numbers of games or cards, with their probabilities."""
        game = self.get_game()
        if game.chance == "number":
            return game.numbers  # type: ignore[no-any-return]
        hidden = {*(game.rules.deck if self.waiting < 0 else self.game.pile)} - {*self.chosen}
        cards = sorted(card for card in hidden if card > self.last)
        sets, size = comb(len(cards), self.due[0]), self.due[0] - 1
        chances = [(card, comb(len(cards) - number, size) / sets) for number, card in enumerate(cards, 1)]
        return [(card, chance) for card, chance in chances if chance]

    def _apply_chance(self, outcome: int) -> None:
        game = self.get_game()
        if game.chance == "number":
            number = check_integer("the number of a game", outcome, 0, game.games - 1)
            self.game = game.spec.Game.from_seed(game.rules, game.seed, number)
            self.due = ()
            self._begin_round()
            return
        if outcome not in {card for card, _ in self.chance_outcomes()}:
            raise IllegalAction(f"card {outcome} cannot come next: chance_outcomes() lists those that can")
        self.chosen += (outcome,)
        self.last = outcome if self.due[0] > 1 else EMPTY
        self.due = (self.due[0] - 1, *self.due[1:]) if self.due[0] > 1 else self.due[1:]
        if not self.due:
            self._end_chance()

    def _end_chance(self) -> None:
        """Continue after the last card of a deal or play is known."""
        rules, chosen, action = self.game.rules, self.chosen, self.waiting
        self.chosen, self.waiting = (), -1
        if action < 0:
            rest = [card for card in rules.deck if card not in chosen]
            self.game.redeal(self.get_game().spec.Deal.of_cards(rules, [*chosen, *rest]))
            self._begin_round()
        else:
            self.game.stack([*chosen, *(card for card in self.game.pile if card not in chosen)])
            self._step(action, drawn=True)

    def _begin_round(self) -> None:
        board, round = self.game.board, self.game.round
        self.laid[round, :, 0] = np.array(board[: self.game.rules.num_cells]) + 1
        self.got[round] = np.array([[*hand] for hand in self.game.hands])

    # --- Play --------------------------------------------------------------------------------------------------------

    def current_player(self) -> int:
        """Return the seat to move, chance, or the end."""
        if self.due:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL if self.game.over else self.game.mover)

    def is_terminal(self) -> bool:
        """Return whether the game has ended."""
        return not self.due and bool(self.game.over)

    def _legal_actions(self, player: int) -> list[int]:
        return np.flatnonzero(self.get_game().observer.mask(self.game)).tolist()

    def legal_actions_mask(self, player: int | None = None) -> list[int]:
        """Return 1 for each legal action of a player, otherwise 0.

        No action is legal unless the player is to move.
        OpenSpiel's own method writes outcomes of chance into the mask of a seat, beyond its end.

        Args:
            player: a seat, or chance, whose mask has an entry for each outcome; the player to move by default.
        """
        to_move, game = self.current_player(), self.get_game()
        player = to_move if player is None else player
        chance = player == pyspiel.PlayerId.CHANCE
        mask = [0] * (game.max_chance_outcomes() if chance else game.num_distinct_actions())
        for action in self.legal_actions() if player == to_move else ():
            mask[action] = 1
        return mask

    def _apply_action(self, action: int) -> None:
        if self.due:
            self._apply_chance(action)
        else:
            self._step(action, drawn=self.get_game().chance == "number")

    def _step(self, action: int, drawn: bool) -> None:
        """Take an action, unless it draws cards that are not ``drawn`` yet."""
        game, seat, round = self.game.copy(), self.game.mover, self.game.round
        game.step(action)
        hand = game.hand(seat) if game.round == round else game.previous_round.hands[seat]
        new = [*{*hand} - {*self.game.hand(seat)}]
        if new and not drawn:
            self.waiting, self.due = action, (len(new),)
            return
        spiel, before = self.get_game(), self.returns()
        card, cell = spiel.spec.notation.decode_play(self.game, action)
        laid = self.laid[round, cell]
        laid[:] = card + 1, self.game.ply + 1, action if laid[0] else 0
        self.got[round, seat, new] = laid[1] + 1
        self.game = game
        self.gains = tuple(map(sub, self.returns(), before))
        if game.round != round:
            self.ended[round] = game.previous_round.scores
            if spiel.chance == "cards":
                self.due = spiel.groups
            else:
                self._begin_round()

    def returns(self) -> list[float]:
        """Return the return of each seat so far."""
        game, totals = self.get_game(), self.game.totals
        if getattr(self.game, "lost", False) or not (self.game.over or game.dense):
            return [0.0] * len(totals)
        values: Any = {"margin": margin, "outcome": outcome}.get(game.reward, list)
        return list(map(float, values(totals)))

    def rewards(self) -> list[float]:
        """Return the reward of each seat for the last action."""
        return list(self.gains)

    # --- Text --------------------------------------------------------------------------------------------------------

    def _action_to_string(self, player: int, action: int) -> str:
        game = self.get_game()
        if player != pyspiel.PlayerId.CHANCE:
            return game.spec.notation.print_action(game.rules, action)  # type: ignore[no-any-return]
        return f"game {action}" if game.chance == "number" else game.spec.notation.NAMES.card_name(action)

    def __str__(self) -> str:
        names = self.get_game().spec.notation.NAMES
        chance = f"\n  chance: {names.print_cards(self.chosen)} ..." if self.due else ""
        return (to_text(self.game) if self.dealt else "") + chance

    # --- Hidden information ------------------------------------------------------------------------------------------

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> "CardGameState":
        """Sample a state uniformly from the information set of a seat.

        See `quincunx_env.core.resample`. Earlier rounds stay as they are. With ``chance="number"`` the history keeps
        the number that was drawn.

        Args:
            player: the seat.
            sampler: returns numbers from 0 to 1, the source of randomness.

        Raises:
            ValueError: if the game is over, or cards are still being dealt.
        """
        if not self.dealt:
            raise ValueError("the cards are still being dealt")
        rng, spiel, round = np.random.default_rng(int(sampler() * 2**53)), self.get_game(), self.game.round
        game = resample(spiel.observer, spiel.observer.observe(self.game, player), rng).to_game(0)
        game.previous_round = self.game.previous_round
        got = self.got.copy()
        for seat in range(spiel.rules.num_players):
            if seat != player:
                got[round, seat] = self._resample_got(seat, game.hand(seat), rng)
        if spiel.chance == "number":
            state = self.clone()
            state.game, state.got = game, got
            return state  # type: ignore[no-any-return]
        state, cards = spiel.new_initial_state(), iter(_dealt(self.laid, got)[len(spiel.face_up) :])
        for taken in self.full_history():
            state.apply_action(next(cards) if taken.player < 0 else taken.action)
        return state  # type: ignore[no-any-return]

    def _resample_got(self, seat: int, hand: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[np.int8]:
        """Sample when a seat got its cards of this round.

        ``hand`` is its present hand. It got each card before it played the card.
        """
        laid, game = self.laid[self.game.round], self.game
        got: npt.NDArray[np.int8] = np.zeros_like(self.got[0, 0])
        times = np.sort(self.got[game.round, seat][self.got[game.round, seat] > 0]).tolist()
        for cell in np.argsort(laid[:, 1], kind="stable"):
            card, ply, _ = laid[cell].tolist()
            # The choices of a later play include those of an earlier one: all assignments are equally probable.
            if ply and (game.first + ply - 1) % len(self.gains) == seat:
                got[card - 1] = times.pop(rng.integers(sum(time <= ply for time in times)))
        got[list(hand)] = rng.permutation(times)
        return got

    def place(self, game: SomeGame) -> None:
        """Set a new state to a game in progress. The history is unknown: cards count as dealt at the beginning."""
        self.game, self.due, self.chosen, self.waiting, round = game, (), (), -1, game.round
        self._begin_round()
        order = np.array(game.order[: game.rules.num_cells])  # type: ignore[attr-defined]
        self.laid[round, :, 1] = np.maximum(order, 0)
        if game.decision == "announce":
            pending = game.pending  # type: ignore[attr-defined]
            self.laid[round, pending.cell] = pending.card + 1, game.ply + 1, 0
        for card, ply, _ in self.laid[round]:
            if ply:
                self.got[round, (game.first + ply - 1) % game.rules.num_players, card - 1] = 1


def _dealt(laid: Ints, got: npt.NDArray[np.int8]) -> list[int]:
    """List the cards of all rounds in the order of chance nodes: face-up cards, hands, draws."""
    cards: list[int] = []
    for cells, seats in zip(laid, got, strict=True):
        cards += [card - 1 for card, ply, _ in cells.tolist() if card and not ply]
        for when in range(1, 1 + seats.max()):
            cards += np.argwhere(seats == when)[:, 1].tolist()
    return cards


class _Observer:
    """OpenSpiel observations: a tensor and its parts, or a string."""

    def __init__(self, game: CardGame, kind: Any) -> None:
        rules, self.spec = game.rules, game.spec
        players, rounds, cards, cells = rules.num_players, rules.num_rounds, rules.num_cards, rules.num_cells
        self.recall, self.public = kind.perfect_recall, kind.public_info
        self.private = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        shapes: dict[str, tuple[int, ...]] = {"player": (players,)}
        if self.private:
            shapes |= {"hand": (cards,)} | ({"got": (rounds, cards)} if self.recall else {})
        if self.public:
            shapes |= {"mover": (players,), "round": (rounds,), "totals": (players,), "hand_sizes": (players,)}
            shapes |= {"pending": (cells,)} if "announce" in rules.decisions else {}
            shapes |= {"board": (rounds if self.recall else 1, cells, cards)}
            shapes |= {"laid": (rounds, cells, 2), "ended": (rounds, players)} if self.recall else {}
        ends = np.cumsum([0, *(np.prod(shape) for shape in shapes.values())]).tolist()
        self.tensor = np.zeros(ends[-1], np.float32)
        self.dict = {
            name: self.tensor[start:end].reshape(shape)
            for (name, shape), start, end in zip(shapes.items(), ends, ends[1:], strict=False)
        }

    def set_from(self, state: CardGameState, player: int) -> None:
        """Write a seat's observation into `tensor`. Points are in hundreds, other counts relative to the maximum."""
        game, rules, parts = state.game, state.game.rules, self.dict
        self.tensor.fill(0)
        parts["player"][player] = 1
        if not state.dealt:
            return
        if self.private:
            parts["hand"][:] = np.frombuffer(game.hands[player], np.int8)
            if self.recall:
                parts["got"][:] = state.got[:, player] / (rules.num_plays + 1)
        if self.public:
            laid = state.laid if self.recall else state.laid[game.round, None]
            parts["mover"][game.mover] = parts["round"][game.round] = 1
            parts["totals"][:] = np.array(game.totals) / 100
            parts["hand_sizes"][:] = np.array([sum(hand) for hand in game.hands]) / rules.hand_size
            rounds, cells = laid[:, :, 0].nonzero()
            parts["board"][rounds, cells, laid[rounds, cells, 0] - 1] = 1
            if game.decision == "announce":
                parts["pending"][game.pending.cell] = 1
            if self.recall:
                parts["laid"][:] = laid[:, :, 1:] / (rules.num_plays, rules.num_actions)
                parts["ended"][:] = state.ended / 100

    def string_from(self, state: CardGameState, player: int) -> str:
        """Return a seat's observation as text. Cards stand at cells, or with the ply at which the seat got them."""
        if not state.dealt:
            return ""
        game, names, lines = state.game, self.spec.notation.NAMES, []
        if self.private:
            lines.append(f"seat {player} holds {names.print_cards(game.hand(player))}")
        if self.private and self.recall:
            for round, when in enumerate(state.got[: game.round + 1, player].tolist()):
                got = sorted((time - 1, card) for card, time in enumerate(when) if time)
                lines.append(f"round {round} got " + " ".join(f"{names.card_name(card)}@{ply}" for ply, card in got))
        if self.public:
            sizes = [sum(hand) for hand in game.hands]
            lines.append(f"seat {game.mover} moves in round {game.round}, points {game.totals}, hands {sizes}")
            for round in range(0 if self.recall else game.round, game.round + 1):
                cells = enumerate(state.laid[round].tolist())
                laid = sorted((ply * self.recall, cell, card - 1, said) for cell, (card, ply, said) in cells if card)
                texts = [f"{names.card_name(card)}@{cell}" + f"={said}" * bool(said) for _, cell, card, said in laid]
                lines.append(f"round {round} laid {' '.join(texts)} points {state.ended[round].tolist()}")
        return "\n".join(lines)


# --- Bots ------------------------------------------------------------------------------------------------------------


class AgentBot(pyspiel.Bot):  # type: ignore[misc]
    """An agent of the arena as a bot of OpenSpiel.

    It sees the observation of the seat to move and nothing else.

    Args:
        agent: the agent, or its name as `quincunx_env.policies.resolve` takes it.
        game: the game that it plays.
        seed: of its random choices.

    Raises:
        ValueError: for an unknown agent, or one that does not play these rules.
    """

    def __init__(self, agent: Agent | str, game: CardGame, seed: int | None = None) -> None:
        super().__init__()
        self.observer = make_observer(game.rules, preview=True)
        self.policy = policy_for(resolve(agent), game.rules)
        self.rng = np.random.default_rng(seed)

    def step(self, state: CardGameState) -> int:
        """Return the action that it takes."""
        game = state.game
        observation = {name: piece[None] for name, piece in self.observer.observe(game, game.mover).items()}
        return int(self.policy(observation, self.observer.mask(game)[None].astype(np.bool_), self.rng)[0])

    def restart_at(self, state: CardGameState) -> None:
        """Do nothing: the bot has no memory."""


class BotAgent:
    """Bots of OpenSpiel as an agent of the arena.

    An observation of the arena does not have a history. A bot is restarted before every action and gets a state that is
    consistent with the observation. `quincunx_env.core.resample` draws the hidden cards of this state.

    The state has an empty history. Its information state has the plays in their order, but neither earlier rounds nor
    announcements. It counts all cards of the seat as dealt at the beginning.

    Args:
        make_bot: returns the bot of a seat: (game, seat).
        options: parameters of `CardGame` beside the rules, for the game that the bots play; ``chance`` is ``"number"``.
    """

    def __init__(self, make_bot: Callable[[CardGame, int], Any], **options: Any) -> None:
        self.make_bot, self.options = make_bot, options

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return a policy for games with these rules."""
        parameters = {field.name: getattr(rules, field.name) for field in fields(rules)}  # type: ignore[arg-type]
        game = pyspiel.load_game(f"python_{spec_of(rules).name}", parameters | self.options | {"chance": "number"})
        observer = make_observer(rules, preview=True)
        bots = [self.make_bot(game, seat) for seat in range(rules.num_players)]

        def policy(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Ints:
            actions = np.empty(len(mask), np.int64)
            for row in range(len(mask)):
                state = game.new_initial_state()
                state.place(
                    resample(observer, {name: piece[row] for name, piece in observation.items()}, rng).to_game(0)
                )
                bot = bots[state.current_player()]
                bot.restart()
                actions[row] = bot.step(state)
            return actions

        return policy


_NAMED: dict[str, tuple[GameSpec, dict[str, Any]]] = {f"python_{name}": (spec, {}) for name, spec in GAMES.items()}
_NAMED["python_quincunx_mini"] = GAMES["quincunx"], MINI
for _name, (_spec, _defaults) in _NAMED.items():
    # A class for each: OpenSpiel releases a registered object without the lock of the interpreter, which crashes
    # unless something else refers to it, as happens to classes only.
    _class = type(f"Game_{_name}", (CardGame,), {"spec": _spec, "name": _name, "defaults": _defaults})
    pyspiel.register_game(_type(_spec, _name, _defaults), _class)
