"""Offline data: games of an agent as a Minari dataset.

Every step has its action mask.

    import minari
    from quincunx_env.adapters.minari import write_dataset

    write_dataset("quincunx/heuristic-v0", "heuristic", 1000)
    dataset = minari.load_dataset("quincunx/heuristic-v0")
    dataset[0].observations["action_mask"]    # int8 [T + 1, actions]

Minari keeps its datasets in the folder that the environment variable ``MINARI_DATASETS_PATH`` names, or in
``~/.minari/datasets``; nothing is written elsewhere.
"""

import copy
import shutil
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from quincunx_env.utils.extras import needs_extra

with needs_extra("minari", __name__):
    import minari
    from minari import MinariDataset
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.storage import get_dataset_path

from quincunx_env.arena.benchmark import TASKS, baselines
from quincunx_env.core.deal import check_seed
from quincunx_env.core.integers import check_integer
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules, RulesLike
from quincunx_env.envs.solitaire import SolitaireVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv
from quincunx_env.policies import display_name, resolve
from quincunx_env.registry import make_observer, spec_of

ENVIRONMENTS = {True: "Quincunx/Solitaire-v0", False: "Quincunx/VsOpponents-v0"}
"""Environments of the datasets: with one player, with several."""

CHUNK = 1000
"""Games played side by side, and held in memory until they are written."""


def write_dataset(
    dataset_id: str,
    agent: Agent | str,
    games: int = 1000,
    *,
    seed: int = 0,
    rules: RulesLike | None = None,
    observation: Literal["flat", "float32", "pieces"] = "flat",
    preview: bool = True,
    lost_value: float = 0.0,
    author: str | None = None,
    author_email: str | None = None,
    code_permalink: str | None = None,
) -> MinariDataset:
    """Write games of an agent as a new dataset.

    Episode i is game 0 of ``Quincunx/Solitaire-v0`` seeded ``seed + i``, and stores that seed: the recovered
    environment plays it again, action by action.

    With rules for P players the agent plays all seats of ``Quincunx/VsOpponents-v0``. Episode ``P * i + k`` is seat k
    of the game seeded ``seed + i``: its own observations, actions and masks. Its rewards are the points since the
    seat's previous decision, less the mean of the other seats' points. ``recover_environment(seat=k)`` plays it again,
    if the agent is given by its name and draws no random numbers. An agent that draws some plays another game for each
    seat.

    Observations are dictionaries (``mask_in="obs"``). With ``observation="flat"`` they hold ``observation`` (int16
    [T + 1, size]) and ``action_mask`` (int8 [T + 1, actions], 1 = legal, all 0 after the last action). ``"float32"``
    stores the encoding for networks in its place, ``"pieces"`` the pieces.

    ``minari.get_normalized_score`` returns 0 for the mean of ``uniform`` and 1 for the mean of ``heuristic``, the
    policies that normalise the benchmark. Both come from the stored results of the task with these rules,
    `quincunx_env.arena.benchmark.BASELINES`. Under other rules none are stored, and the dataset has no reference
    scores. With several players they are returns against the task's opponent, which
    ``recover_environment(eval_env=True)`` plays.

    Args:
        dataset_id: its name and version, such as ``quincunx/heuristic-v0``. A namespace has at least two characters.
        agent: the agent, or its name as `quincunx_env.policies.resolve` takes it.
        games: number of games, at least 2, for an interval.
        seed: of the first episode, and of the agent.
        rules: of the game, as the environments take them; the solitaire by default.
        observation: encoding of the observations.
        preview: whether they include the points and draws of every legal play.
        lost_value: return of a lost round of the solitaire.
        author: named in the metadata of the dataset.
        author_email: also for the metadata.
        code_permalink: address of the code that made the dataset, also for the metadata.

    Returns:
        The dataset, as ``minari.load_dataset`` does.

    Raises:
        ValueError: if the name is malformed or taken, for an unknown agent or option, or an agent that does not play
            these rules. No dataset is left then, nor after any other error.
    """
    games, first = check_integer("games", games, 2, 2**63 - 1), check_seed(seed)
    check_seed(first + games - 1)
    _check_name(dataset_id)
    if isinstance(rules, list | tuple):
        raise ValueError("all games of a dataset have the same rules: write one dataset under each of them")
    name, policy = display_name(agent), resolve(agent)
    options: dict[str, Any] = {"observation": observation, "preview": preview, "mask_in": "obs"}
    options |= {} if rules is None else {"rules": rules}
    alone = (rules.get("num_players", 1) if isinstance(rules, Mapping) else rules.num_players if rules else 1) == 1
    stored: dict[str, Any] = {}
    if alone:
        options["lost_value"] = lost_value
    else:
        if lost_value:
            raise ValueError(f"lost_value is an option of the solitaire: leave it out, got {lost_value}")
        if not isinstance(rules, Mapping) and rules:
            options["game"] = spec_of(rules).name
        if isinstance(agent, str):  # a policy that is an object cannot be stored: the default opponent takes its place
            stored["opponents"] = agent
    env = gymnasium.make(ENVIRONMENTS[alone], **options, **stored)
    chosen: BaseRules = env.unwrapped.rules  # type: ignore[attr-defined]
    playing = policy_for(policy, chosen)
    scores = _reference_scores(chosen, lost_value, env.spec)
    dataset: MinariDataset | None = None
    created = False
    try:
        for number, start in enumerate(range(0, games, CHUNK)):
            count, rng = min(CHUNK, games - start), np.random.default_rng([first, number])
            tables = (
                [SolitaireVectorEnv(count, **options)]
                if alone
                else [
                    VsOpponentsVectorEnv(count, opponents=[policy] * (chosen.num_players - 1), seat=seat, **options)
                    for seat in range(chosen.num_players)
                ]
            )
            seats = [_episodes(envs, playing, rng, first + start) for envs in tables]
            episodes = [episode for game in zip(*seats, strict=True) for episode in game]
            if dataset is not None:
                dataset.update_dataset_from_buffer(episodes)
                continue
            _check_name(dataset_id)  # another process may have made it during the games
            created = True
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of authors that are not given
                dataset = minari.create_dataset_from_buffers(
                    dataset_id,
                    episodes,
                    env=env,
                    algorithm_name=name,
                    author=author,
                    author_email=author_email,
                    code_permalink=code_permalink,
                    description=f"Games that the agent {name} of quincunx_env plays at {ENVIRONMENTS[alone]}.",
                    requirements=[f"quincunx_env=={version('quincunx_env')}"],
                    **scores,
                )
        assert dataset is not None
    except BaseException:
        if created:
            shutil.rmtree(get_dataset_path(dataset_id), ignore_errors=True)
        raise
    return dataset


def _reference_scores(rules: BaseRules, lost_value: float, spec: EnvSpec | None) -> dict[str, Any]:
    """Return the mean returns of the normalised scores 0 and 1.

    With several players there is also the environment in which they hold. The result is empty if none are stored.
    """
    task = next((task for task in TASKS.values() if task.rules == rules), None)
    if task is None or spec is None:
        return {}
    found = {
        "ref_min_score": baselines()[task.name, "uniform"],
        "ref_max_score": baselines()[task.name, task.reference],
    }
    if task.opponent is not None:
        evaluated = copy.deepcopy(spec)
        evaluated.kwargs["opponents"] = task.opponent
        return {name: result.margin for name, result in found.items()} | {"eval_env": evaluated}
    # A lost round counts 0 in the stored scores.
    return {name: result.score.value + (result.lost or 0.0) * lost_value for name, result in found.items()}


def _check_name(dataset_id: str) -> None:
    try:
        parse_dataset_id(dataset_id)
    except TypeError:  # of Minari, where there is no version
        raise ValueError(f"dataset_id {dataset_id!r} has no version: end it with -v0, for example") from None
    except ValueError:
        raise ValueError(
            f"Minari refuses the dataset_id {dataset_id!r}: it must be like 'name-v0' or 'namespace/name-v0', of "
            "letters, digits, '-' and '_', a namespace of at least two"
        ) from None
    if get_dataset_path(dataset_id).exists():
        raise ValueError(
            f"there is already a dataset {dataset_id}: choose another version, or minari.delete_dataset({dataset_id!r})"
        )


def _episodes(
    envs: SolitaireVectorEnv | VsOpponentsVectorEnv, policy: Any, rng: np.random.Generator, seed: int
) -> Iterator[EpisodeBuffer]:
    """Play the first game of every row of a vector environment. Later games of a row are left out."""
    observer, batch = make_observer(envs.rules, preview=True), envs.batch
    shown: Any
    shown, _ = envs.reset(seed=seed)
    playing = np.ones(envs.num_envs, np.bool_)
    lengths = np.zeros(envs.num_envs, np.int64)
    seen, taken, gained = [shown], [], []
    while playing.any():
        rows = np.flatnonzero(playing)
        live = batch.fork(rows)
        actions = shown["action_mask"].argmax(axis=1)  # anything legal where the game is over
        actions[rows] = policy(observer.observe_batch(live), live.mask, rng)
        shown, rewards, terminated, _, _ = envs.step(actions)
        seen.append(shown)
        taken.append(actions)
        gained.append(rewards)
        lengths[rows] += 1
        playing &= ~terminated
    observations = {name: np.stack([each[name] for each in seen], axis=1) for name in seen[0]}
    actions, rewards = np.stack(taken, axis=1), np.stack(gained, axis=1)
    # No action is legal after the last one; vector environments that reset by themselves say that any is.
    observations["action_mask"][np.arange(envs.num_envs), lengths] = 0
    for row, length in enumerate(lengths.tolist()):
        yield EpisodeBuffer(
            seed=seed + row,
            observations={name: piece[row, : length + 1] for name, piece in observations.items()},
            actions=actions[row, :length],
            rewards=rewards[row, :length].tolist(),
            terminations=[*[False] * (length - 1), True],
            truncations=[False] * length,
        )
