"""Measure the mean value of the start of the solitaire, which adjusted means need (`quincunx_env.arena.luck`).

    python -m train.start_value    # 200,000 deals of the domain play, about two minutes of a core

It writes ``luck.json`` beside the module. A test fails after a change of the network until this is done again.
"""

import hashlib
import json

import numpy as np
from tqdm.auto import trange

from quincunx_agents.networks.value import WEIGHTS
from quincunx_env.arena.luck import FILE, REFERENCE, state_values
from quincunx_env.core.policy import policy_for
from quincunx_env.policies import resolve
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import write_text

DEALS, BLOCK = 200_000, 1_000


def network_hash() -> str:
    """Return the SHA-256 of the network whose values are used."""
    return hashlib.sha256((WEIGHTS / "solitaire.safetensors").read_bytes()).hexdigest()


def main() -> None:
    """Measure, and write the file."""
    policy, games, values = policy_for(resolve(REFERENCE), Rules()), Batch(Rules(), BLOCK, "play"), []
    for first in trange(0, DEALS, BLOCK):
        games.reset(seed=first)
        values.append(state_values(games, policy))
    found = np.concatenate(values)
    facts = {
        "mean": round(float(found.mean()), 5),
        "error": round(float(found.std(ddof=1)) / DEALS**0.5, 5),
        "command": "python -m train.start_value",
        "deals": f"play 0 to {DEALS - 1}",
        "network": network_hash(),
    }
    write_text(FILE, json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
