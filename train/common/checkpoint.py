"""Files of a training run: written whole or not at all, checked before use, loaded without running code."""

import dataclasses
import itertools
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch

from quincunx_env.core.atomic_write import write_atomically as write_atomically


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used; the message says why and what to do."""


def save(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint of tensors, numbers, strings, lists and dictionaries, atomically."""
    write_atomically(path, lambda unfinished: torch.save(content, unfinished))


def load(path: Path) -> dict[str, Any]:
    """Read what `save` wrote.

    Raises:
        CheckpointError: if the file is missing, damaged or foreign.
    """
    way_out = "start again without --resume, or put back a good copy of the file"
    if not path.exists():
        raise CheckpointError(f"there is no checkpoint at {path}: {way_out}")
    try:
        # torch.load reads damaged tensors without a word; the checksums in the archive tell.
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise CheckpointError(f"the checkpoint {path} is damaged (in {damaged}): {way_out}")
        content = torch.load(path, weights_only=True)
    except CheckpointError:
        raise
    except Exception as error:
        raise CheckpointError(f"{path} is damaged or no checkpoint ({error}): {way_out}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} holds no checkpoint of this project: {way_out}")
    return content


def keep_earlier(folder: Path) -> None:
    """Move an earlier run of the same name out of the way."""
    if not folder.exists():
        return
    spare = next(
        path for number in itertools.count(1) if not (path := folder.with_name(f"{folder.name}-{number}")).exists()
    )
    folder.rename(spare)
    print(f"the earlier run {folder} is kept as {spare}")


def refuse_other_arguments(arguments: Any, saved: dict[str, Any], may_change: Collection[str]) -> None:
    """A run goes on as it began; both are dataclasses of arguments, the saved ones as a dictionary."""
    own = dataclasses.asdict(arguments)
    different = [name for name in own if name not in may_change and saved.get(name) != own[name]]
    if different:
        flags = ", ".join(f"{name}={saved.get(name)!r} (now {own[name]!r})" for name in different)
        raise SystemExit(f"the run was started with {flags}: resume it with the same")
