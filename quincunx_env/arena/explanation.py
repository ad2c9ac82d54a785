"""Values by which a policy chooses, for a picture or a table."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from quincunx_env.core.game import SomeGame
from quincunx_env.core.policy import Agent, naming, policy_for
from quincunx_env.policies import PolicyFileError, display_name, resolve
from quincunx_env.registry import make_observer, spec_of


def explain(
    policy: Agent | str, game: SomeGame, *, seed: int = 0, actions: Collection[int] | None = None
) -> npt.NDArray[np.float64]:
    """Return a policy's values of the plays of the seat to move.

    The policy estimates them from the observation of this seat.

    ``render.to_svg(game, values=explain(policy, game))`` draws them as a heat map, the best card of each cell.

    Args:
        policy: a policy with the method ``action_values`` (`quincunx_env.core.policy.ValuedPolicy`), or its name as
            `quincunx_env.arena.resolve` takes it. All agents that come with the package have values but ``uniform``,
            and all models in files but those that compute actions only.
        game: the position, which stays as it is.
        seed: seed of the policy's generator.
        actions: the legal plays to value, all by default: a policy may value the most promising of them alone.

    Returns:
        float64 [cards, cells]; NaN for plays that are illegal or that the policy does not consider. The values are
        points; policy networks and models in files have logits or Q-values instead.

    Raises:
        ValueError: if the game is over or waits for an announcement, or the policy is unknown, has no values or does
            not play by these rules.
    """
    rules, spec = game.rules, spec_of(game.rules)
    plays = [play for play in spec.notation.legal_plays(game) if actions is None or play in actions]
    if not plays:
        raise ValueError("values of plays are asked where a card can be played: " + spec.notation.describe_legal(game))
    chooser = policy_for(resolve(policy), rules)
    if not hasattr(chooser, "action_values"):
        raise ValueError(f"{display_name(policy)} has no values of actions: it lacks a method action_values")
    observer = make_observer(rules, preview=True)
    observation = {name: piece[None] for name, piece in observer.observe(game, game.mover).items()}
    mask = np.zeros((1, rules.num_actions), np.bool_)
    mask[0, plays] = True
    with naming(display_name(policy), PolicyFileError):
        [values] = chooser.action_values(observation, mask, np.random.default_rng(seed))
    return spec.notation.table(game, {action: values[action] for action in plays if np.isfinite(values[action])})
