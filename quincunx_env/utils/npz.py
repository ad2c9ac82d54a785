"""Reproducible ``.npz`` files of NumPy, and a reader that trusts nothing.

Equal arrays give equal bytes: order, dates and compression are fixed. Before an array is read, all sizes are compared
with a limit, and each shape with the size of its member. Nothing is unpickled.
"""

import io
import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

_MAX_MEMBERS = 100
"""Upper limit of the entries of a directory, which are counted before they are read. Not tuned."""

_LOCAL_HEADER = 30
"""Bytes before the name of an array."""


class NpzError(ValueError):
    """Not such a file, or a damaged one."""


def pack(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return the content of a file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member, content = zipfile.ZipInfo(f"{name}.npy"), io.BytesIO()  # of the year 1980
            member.create_system, member.external_attr = 3, 0o600 << 16  # on Windows, too
            np.lib.format.write_array(content, array, (1, 0), allow_pickle=False)
            archive.writestr(member, content.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return file.getvalue()


def begins_with(content: bytes, name: str) -> bool:
    """Return whether a file begins with an array of this name. Its first 100 bytes suffice."""
    return content[:4] == b"PK\3\4" and content[_LOCAL_HEADER:].startswith(f"{name}.npy".encode())


def shapes(content: bytes, dtypes: Mapping[str, str], most: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays, without reading them.

    Args:
        content: of the file.
        dtypes: dtype of each array, in their order in the file.
        most: upper limit of the bytes of all arrays.

    Raises:
        NpzError: for other arrays, larger ones, or a damaged file.
    """
    if content.count(b"PK\1\2") > _MAX_MEMBERS:  # the beginning of each entry of the directory
        raise NpzError(f"the file has more than {len(dtypes)} arrays")
    with _readable(), zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if names != [*dtypes]:
            raise NpzError(f"the file has the arrays {', '.join(names):.100}, expected {', '.join(dtypes)}")
        check_members(archive, zipfile.ZIP_DEFLATED, most)
        return {name: _shape(archive, member, dtypes[name]) for name, member in zip(names, members, strict=True)}


def check_members(archive: zipfile.ZipFile, compression: int, most: int) -> None:
    """Check what an archive can demand, before it is read.

    Args:
        archive: to be read.
        compression: of all members, ``ZIP_STORED`` or ``ZIP_DEFLATED``. Others may decompress more than the size.
        most: upper limit of the bytes of all members.

    Raises:
        NpzError: naming what is more, or compressed otherwise.
    """
    if sum(member.file_size for member in archive.infolist()) > most:
        raise NpzError(f"its members have more than {most:,} bytes")
    for member in archive.infolist():
        if member.compress_type != compression:
            needed = "compressed with DEFLATE" if compression == zipfile.ZIP_DEFLATED else "stored"
            raise NpzError(f"{member.filename} is not {needed}")


def read(content: bytes, name: str) -> npt.NDArray[Any]:
    """Read an array of a file that `shapes` has checked.

    Raises:
        NpzError: if the array is damaged.
    """
    with _readable(), np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        array: npt.NDArray[Any] = arrays[name]
        return array


def _shape(archive: zipfile.ZipFile, member: zipfile.ZipInfo, needed: str) -> tuple[int, ...]:
    """Return the shape of an array, which fits the member's size."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise NpzError(f"{member.filename} is of version {version} of NumPy's format, expected (1, 0)")
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
        if fortran_order or dtype.str != needed:
            raise NpzError(f"{member.filename} has the dtype {dtype.str}, expected {needed}")
        if file.tell() + dtype.itemsize * math.prod(shape) != member.file_size:
            raise NpzError(f"{member.filename} is damaged or cut short: the shape {shape} has another size")
        return tuple(shape)


@contextmanager
def _readable() -> Iterator[None]:
    """Raise one kind of error for damaged files."""
    try:
        yield
    except NpzError:
        raise
    except Exception as error:
        raise NpzError("the file is damaged or cut short") from error
