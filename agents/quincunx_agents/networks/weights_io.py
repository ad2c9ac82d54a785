"""Files of weights: arrays by name, what is said about them, and a checksum over both."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from quincunx_agents.afterstates import Floats
from quincunx_env.core.atomic_write import write_atomically


class WeightsError(RuntimeError):
    """Weights that cannot be used; the message says why."""


def write(path: Path, weights: Mapping[str, Floats], about: Mapping[str, Any], learned: str) -> None:
    """Write weights and what is said ``about`` them; the checksum covers the weights and what they have ``learned``."""
    text = json.dumps({**about, "checksum": _checksum(weights, learned)})
    content = save(dict(weights), {"about": text})
    write_atomically(path, lambda unfinished: unfinished.write_bytes(content))


def read(path: Path) -> tuple[dict[str, Floats], dict[str, Any]]:
    """What `write` wrote: weights, and what is said about them. `check` says whether they are whole.

    Raises:
        WeightsError: if the file is missing or damaged.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            weights: dict[str, Floats] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (OSError, SafetensorError, ValueError) as error:
        raise WeightsError(f"{path} is missing, damaged or no file of weights: {error}") from error
    return weights, about


def known(path: Path, about: Mapping[str, Any], names: Collection[str]) -> None:
    """Refuse a file that does not say these things.

    Raises:
        WeightsError: naming the file.
    """
    if not {*names, "checksum"} <= set(about):
        raise WeightsError(f"{path} is no file of weights of this kind: it does not tell what they have learned")


def check(path: Path, weights: Mapping[str, Floats], about: Mapping[str, Any], learned: str) -> None:
    """Refuse weights that have changed since they were written.

    Raises:
        WeightsError: naming the file.
    """
    if about["checksum"] != _checksum(weights, learned):
        raise WeightsError(f"{path} is damaged: its checksum is another")


def _checksum(weights: Mapping[str, Floats], learned: str) -> str:
    digest = hashlib.sha256(learned.encode())
    for name in sorted(weights):
        digest.update(name.encode() + np.ascontiguousarray(weights[name], "<f4").tobytes())
    return digest.hexdigest()
