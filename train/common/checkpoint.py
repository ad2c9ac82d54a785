"""Checkpoints and locks of training runs.

Checkpoints are written atomically, verified when read, and loaded without executing code.
"""

import dataclasses
import io
import itertools
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
    from filelock import FileLock, Timeout

from quincunx_env.utils.files import remove_unfinished, write_atomically
from quincunx_env.utils.npz import check_members
from train.common.options import CheckpointError as CheckpointError


def save(path: Path, arguments: Any, content: dict[str, Any]) -> None:
    """Write a checkpoint atomically.

    ``content`` holds tensors, numbers, strings, lists and dictionaries of them.

    Raises:
        OSError: if the file cannot be written.
    """
    # In memory first: where a disk is full, PyTorch raises a RuntimeError about positions in the file.
    buffer = io.BytesIO()
    torch.save({"arguments": dataclasses.asdict(arguments), **content}, buffer)
    write_atomically(path, lambda unfinished: unfinished.write_bytes(buffer.getbuffer()))


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint that `save` wrote.

    Raises:
        CheckpointError: if the file is missing, damaged or foreign.
    """
    remedy = "start again without --resume, or restore an intact copy of the file"
    if not path.exists():
        raise CheckpointError(f"there is no checkpoint at {path}: {remedy}")
    try:
        # torch.load does not verify the checksums of the archive.
        with zipfile.ZipFile(path) as archive:
            check_members(archive, zipfile.ZIP_STORED, path.stat().st_size)
            damaged = archive.testzip()
        if damaged is not None:
            raise CheckpointError(f"the checkpoint {path} is damaged (in {damaged}): {remedy}")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except CheckpointError:
        raise
    except Exception as error:
        raise CheckpointError(f"{path} is damaged or not a checkpoint ({error}): {remedy}") from error
    if not isinstance(content, dict) or not isinstance(content.get("arguments"), dict):
        raise CheckpointError(f"{path} holds no checkpoint of this project: {remedy}")
    if not is_finite(content):
        raise CheckpointError(f"{path} holds weights that are not finite: {remedy}")
    return content


def is_finite(content: Any) -> bool:
    """Return whether the numbers of all tensors in lists and dictionaries are finite."""
    if isinstance(content, torch.Tensor):
        return not content.is_floating_point() or bool(content.isfinite().all())
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return all(map(is_finite, parts))


@contextmanager
def restoring(arguments: Any, content: dict[str, Any], may_change: Collection[str]) -> Iterator[None]:
    """Compare a run's arguments with its checkpoint, before the block restores it.

    Raises:
        CheckpointError: if arguments differ that may not change, or if the block fails: another version wrote it.
    """
    own, saved = _flat(dataclasses.asdict(arguments)), _flat(content["arguments"])
    if own.keys() != saved.keys():
        names = ", ".join(sorted(own.keys() ^ saved.keys()))
        raise CheckpointError(
            f"the checkpoint is of another script or version, which differs in the options {names}: "
            "start again without --resume, or use another --name"
        )
    different = [name for name in own if name not in may_change and saved[name] != own[name]]
    if different:
        flags = ", ".join(f"{name}={saved[name]!r} (now {own[name]!r})" for name in different)
        raise CheckpointError(f"the run was started with {flags}, on which its weights depend: resume it with the same")
    try:
        yield
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"the checkpoint does not fit this version: {error}") from error


def _flat(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the ones of embedded dataclasses beside the others."""
    embedded = [value for value in arguments.values() if isinstance(value, dict)]
    parts = (arguments, *embedded)
    return {name: value for part in parts for name, value in part.items() if not isinstance(value, dict)}


# --- Folders of runs -------------------------------------------------------------------------------------------------


@contextmanager
def locked(folder: Path, resume: bool = False) -> Iterator[None]:
    """Make the folder of a run, and lock it meanwhile.

    Unless the run is resumed, an earlier run of its name is kept in another folder. The lock is on an empty file beside
    the folder, which stays. It ends with the process, whatever ends that.

    Raises:
        CheckpointError: if a run of that name is in progress.
        OSError: if nothing can be written beside the folder.
    """
    folder.parent.mkdir(exist_ok=True)
    try:
        lock = FileLock(folder.absolute().with_name(f".{folder.name}.lock")).acquire(timeout=0)
    except Timeout:
        raise CheckpointError(f"a run of that name is in progress in {folder}: choose another --name") from None
    with lock:
        if not resume:
            _keep_earlier_run(folder)
        folder.mkdir(exist_ok=True)
        yield


def _keep_earlier_run(folder: Path) -> None:
    """Rename the folder of an earlier run to the first free ``<name>-<number>``."""
    if not folder.exists():
        return
    remove_unfinished(folder)
    spare = next(
        path for number in itertools.count(1) if not (path := folder.with_name(f"{folder.name}-{number}")).exists()
    )
    folder.rename(spare)
    print(f"the earlier run {folder} is kept as {spare}")
