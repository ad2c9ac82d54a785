"""Weights files: safetensors with JSON metadata and a checksum over both."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_env.utils.extras import needs_extra

with needs_extra("arena", "a network"):
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import save

from quincunx_agents.afterstates import Floats
from quincunx_env.utils.files import MOST_BYTES, write_atomically


class WeightsError(RuntimeError):
    """Weights that cannot be used; the message gives the reason."""


def write(path: Path, tensors: Mapping[str, Floats], metadata: Mapping[str, Any], signature: str) -> None:
    """Write tensors, float32 by name, and metadata atomically.

    The ``signature``, the games of the network, enters the checksum with the tensors. JSON must hold the metadata.
    """
    text = json.dumps({**metadata, "checksum": _checksum(tensors, signature)})
    content = save(dict(tensors), {"metadata": text})
    write_atomically(path, lambda unfinished: unfinished.write_bytes(content))


def read(path: Path) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Read tensors and metadata of a file; `verify_checksum` checks them.

    Raises:
        WeightsError: if the file is missing or damaged, has tensors of another type or weights that are not finite, or
            its metadata are not a JSON object.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            if len(text := (file.metadata() or {}).get("metadata", "{}")) > MOST_BYTES:
                raise ValueError(f"its metadata have more than {MOST_BYTES:,} characters")
            metadata = json.loads(text)
            tensors = {name: _read_tensor(file, name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if not isinstance(metadata, dict):
            raise ValueError(f"its metadata must be a JSON object, got {type(metadata).__name__}")
    except (OSError, RecursionError, SafetensorError, ValueError) as error:
        raise WeightsError(f"{path} is missing, damaged or not a weights file: {error}") from error
    return tensors, metadata


def _read_tensor(file: Any, name: str) -> Floats:
    # The type comes first: NumPy has no counterpart of some types that a file can hold.
    if (dtype := file.get_slice(name).get_dtype()) != "F32":
        raise ValueError(f"tensor {name!r} must be F32, got {dtype}")
    tensor: Floats = file.get_tensor(name)
    if not tensor.size or not np.isfinite(tensor).all():
        raise ValueError(f"tensor {name!r} is empty or has weights that are not finite")
    return tensor


def require_metadata(path: Path, metadata: Mapping[str, Any], names: Collection[str]) -> None:
    """Check that a file has these entries of metadata and a checksum.

    Raises:
        WeightsError: naming the file.
    """
    if missing := {*names, "checksum"} - set(metadata):
        raise WeightsError(
            f"{path} is not a weights file of this kind: its metadata lacks {', '.join(sorted(missing))}"
        )


def verify_checksum(path: Path, tensors: Mapping[str, Floats], metadata: Mapping[str, Any], signature: str) -> None:
    """Check tensors and signature against the checksum.

    Raises:
        WeightsError: naming the file.
    """
    if metadata["checksum"] != _checksum(tensors, signature):
        raise WeightsError(f"{path} is damaged: its checksum does not match")


def _checksum(tensors: Mapping[str, Floats], signature: str) -> str:
    digest = hashlib.sha256(signature.encode())
    for name in sorted(tensors):
        digest.update(name.encode() + np.ascontiguousarray(tensors[name], "<f4").tobytes())
    return digest.hexdigest()
