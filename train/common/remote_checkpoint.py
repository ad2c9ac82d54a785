"""Checkpoints that are folders on any file system that pyarrow supports, complete once their ``run.json`` exists."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.fs

from train.common.checkpoint import CheckpointError


class RemoteCheckpoints:
    """Checkpoints of one run, ``<storage>/<name>/checkpoints/<iteration>``.

    Args:
        storage: a folder, or a URI such as ``s3://bucket/path``.
        name: of the run.
        keep: number of complete checkpoints that are kept.

    Raises:
        CheckpointError: if there is no file system of this kind.
    """

    def __init__(self, storage: str, name: str, keep: int) -> None:
        uri = storage if "://" in storage else Path(storage).resolve().as_uri()
        try:
            self.filesystem, root = pyarrow.fs.FileSystem.from_uri(uri)
        except ValueError as error:
            raise CheckpointError(f"--storage must be a folder or a URI that pyarrow supports: {error}") from error
        self.folder = f"{root}/{name}/checkpoints"
        self.keep = keep

    def path(self, iteration: int) -> str:
        """Return the folder of a checkpoint, a path in `filesystem`."""
        return f"{self.folder}/{iteration:08d}"

    def complete(self) -> list[str]:
        """Return the folders of all complete checkpoints, the earliest first."""
        inside = pyarrow.fs.FileSelector(self.folder, allow_not_found=True)
        folders = sorted(found.path for found in self.filesystem.get_file_info(inside))
        marks = self.filesystem.get_file_info([f"{path}/run.json" for path in folders])
        return [path for path, mark in zip(folders, marks, strict=True) if mark.type == pyarrow.fs.FileType.File]

    def refuse_existing(self) -> None:
        """Ensure that a new run overwrites no checkpoint.

        Raises:
            CheckpointError: if there are complete checkpoints.
        """
        if self.complete():
            raise CheckpointError(
                f"{self.folder} holds checkpoints: --resume continues from them, or use another --name"
            )

    def save(self, iteration: int, arguments: Any, state: Any, write: Callable[[str], None]) -> None:
        """Write a checkpoint, and delete the earliest ones beyond those to be kept.

        Args:
            iteration: its number.
            arguments: of the run, a dataclass that JSON can hold.
            state: of the run, likewise.
            write: writes the rest into a folder of `filesystem`.
        """
        path, files = self.path(iteration), self.filesystem
        files.create_dir(path)
        files.delete_dir_contents(path)  # of an attempt that was interrupted
        write(path)
        text = json.dumps({"arguments": dataclasses.asdict(arguments), "state": dataclasses.asdict(state)})
        with files.open_output_stream(f"{path}/run.unfinished") as stream:
            stream.write(text.encode())
        files.move(f"{path}/run.unfinished", f"{path}/run.json")
        for earlier in self.complete()[: -self.keep]:
            files.delete_dir(earlier)

    def last(self) -> dict[str, Any]:
        """Return ``arguments`` and ``state`` of the last complete checkpoint.

        Raises:
            CheckpointError: if there is none, or if it is damaged.
        """
        complete = self.complete()
        if not complete:
            raise CheckpointError(f"there is no checkpoint in {self.folder}: start without --resume")
        try:
            with self.filesystem.open_input_stream(f"{complete[-1]}/run.json") as stream:
                content = json.loads(stream.read())
            return {"arguments": content["arguments"], "state": content["state"]}
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{complete[-1]} is damaged or of another version: {error}") from error
