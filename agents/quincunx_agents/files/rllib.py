"""Checkpoints of Ray RLlib's new API stack.

They are of an algorithm, or of one of its modules.

Every part of a checkpoint is a pickle, the class of the module and its arguments included.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools
from quincunx_agents.files.encodings import Encoded, encodings, other_game
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies.files import CONSTRUCTOR, untrusted
from quincunx_env.utils.extras import needs_extra

MODULES = "learner_group/learner/rl_module"
"""Folder of the modules in the checkpoint of an algorithm."""

PREFERRED = ("default_policy", "main")
"""Of several modules the one that is meant: of a single agent, or the learner of ``train/rllib.py``."""


class Module:
    """A module; a `quincunx_env.core.policy.PolicyFactory`."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the greedy policy for games with the model's observations.

        Raises:
            ValueError: if it was trained on other observations.
        """
        space = self.module.observation_space
        for encoding in encodings(rules):
            encoding = replace(encoding, vector="observations")
            if _agrees(space, encoding.space()):
                return encoding.policy(self._scores)
        raise other_game(
            rules, lambda other: _agrees(space, replace(other, vector="observations").space()), _describe(space)
        )

    def _scores(self, encoded: Encoded, mask: Bools) -> npt.NDArray[Any]:
        """Compute logits, or Q-values, of all actions."""
        import torch
        from ray.rllib.algorithms.dqn.default_dqn_rl_module import QF_PREDS
        from ray.rllib.core.columns import Columns

        tensors: Any = (
            {name: torch.from_numpy(piece).float() for name, piece in encoded.items()}
            if isinstance(encoded, dict)
            else torch.from_numpy(encoded).float()
        )
        with torch.no_grad():
            if hasattr(self.module, "compute_q_values"):
                found = self.module.compute_q_values({Columns.OBS: tensors})[QF_PREDS]
            else:
                found = self.module.forward_inference({Columns.OBS: tensors})[Columns.ACTION_DIST_INPUTS]
        scores: npt.NDArray[Any] = found.numpy()
        return scores


def read(path: Path, trust: bool) -> Module:
    """Read a module of a checkpoint.

    Args:
        path: folder that ``save_to_path`` of an algorithm or of a module wrote.
        trust: needed.

    Raises:
        UntrustedFileError: without ``trust``; nothing has been read then.
        ValueError: if it holds several modules.
    """
    if not trust:
        raise untrusted(path)
    with needs_extra("rllib", "a checkpoint of RLlib"):
        from ray.rllib.core.rl_module.rl_module import RLModule

    folder = path.resolve()
    folder = folder / MODULES if (folder / MODULES).is_dir() else folder
    modules = sorted(file.parent.name for file in folder.glob(f"*/{CONSTRUCTOR}"))
    if modules:
        chosen = [name for name in PREFERRED if name in modules] or modules
        if len(chosen) > 1 and chosen == modules:
            raise ValueError(f"it has the modules {', '.join(modules)}: name the folder of one of them in {folder}")
        folder = folder / chosen[0]
    return Module(RLModule.from_checkpoint(folder))


def _agrees(found: Any, expected: Any) -> bool:
    """Return whether spaces agree in entries, shapes and bounds. The dtype may differ."""
    entries, others = getattr(found, "spaces", None), getattr(expected, "spaces", None)
    if entries is not None and others is not None:
        return set(entries) == set(others) and all(_agrees(entries[name], others[name]) for name in others)
    if entries is not None or others is not None or found.shape != expected.shape:
        return False
    return bool(np.array_equal(found.low, expected.low) and np.array_equal(found.high, expected.high))


def _describe(space: Any) -> str:
    return ", ".join(getattr(space, "spaces", {})) or f"{space.dtype} {list(space.shape)}"
