"""Reproducible ``.npz`` files of NumPy, and a reader that trusts nothing.

Equal arrays give equal bytes: order, dates and compression are fixed. Before an array is read, all sizes are compared
with a limit, and each shape with the size of its member. Nothing is unpickled.
"""

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

_MAX_MEMBERS = 100
"""Upper limit of the entries of a directory, which are counted before they are read. Not tuned."""

_BLOCK = 2**16
"""Bytes that are decompressed at once."""

_LOCAL_HEADER = 30
"""Bytes before the name of an array."""


class NpzError(ValueError):
    """Not such a file, or a damaged one."""


def pack(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return the content of a file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member, content = _member(name), io.BytesIO()
            np.lib.format.write_array(content, array, (1, 0), allow_pickle=False)
            archive.writestr(member, content.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return file.getvalue()


def begins_with(content: bytes, name: str) -> bool:
    """Return whether a file begins with an array of this name. Its first 100 bytes suffice."""
    return content[:4] == b"PK\3\4" and content[_LOCAL_HEADER:].startswith(f"{name}.npy".encode())


def shapes(content: bytes, dtypes: Mapping[str, str], most: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays. No array is read.

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
        if sum(member.file_size for member in members) > most:
            raise NpzError(f"the arrays have more than {most} bytes")
        _require_packed(content, members)
        return {name: _shape(archive, member, dtypes[name]) for name, member in zip(names, members, strict=True)}


def read(content: bytes, name: str) -> npt.NDArray[Any]:
    """Read an array of a file that `shapes` has checked.

    Raises:
        NpzError: if the array is damaged.
    """
    with _readable(), np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        array: npt.NDArray[Any] = arrays[name]
        return array


def _member(name: str) -> zipfile.ZipInfo:
    """Return the entry of an array, of the year 1980."""
    member = zipfile.ZipInfo(f"{name}.npy")
    member.create_system, member.external_attr = 3, 0o600 << 16  # on Windows, too
    return member


def _require_packed(content: bytes, members: Sequence[zipfile.ZipInfo]) -> None:
    """Check the bytes beside the arrays, which `zipfile` ignores in part.

    They are as `pack` writes them, and each compressed array ends where the next one begins.

    Raises:
        NpzError: otherwise.
    """
    arrays, directory = b"", b""
    for member in members:
        if member.compress_type != zipfile.ZIP_DEFLATED:  # others may decompress more than the size
            raise NpzError(f"{member.filename} is not compressed with DEFLATE")
        entry = _member(member.filename.removesuffix(".npy"))
        for name in ("CRC", "compress_size", "file_size"):
            setattr(entry, name, getattr(member, name))
        entry.compress_type = zipfile.ZIP_DEFLATED
        header, offset = entry.FileHeader(zip64=False), len(arrays)
        packed = content[offset + len(header) : offset + len(header) + member.compress_size]
        if not _ends(packed, member.file_size):
            raise NpzError(f"the file is damaged or cut short: {member.filename} ends elsewhere")
        arrays += header + packed
        system = struct.pack("<4s4B", b"PK\1\2", entry.create_version, entry.create_system, entry.extract_version, 0)
        attributes = struct.pack("<HHHLL", 0, 0, 0, entry.external_attr, offset)
        directory += system + header[6:30] + attributes + entry.filename.encode()
    counts = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(arrays), 0)
    if arrays + directory + counts != content:
        raise NpzError("the file is damaged or cut short: there is something between the arrays")


def _ends(packed: bytes, size: int) -> bool:
    """Return whether a DEFLATE stream of ``size`` bytes ends so. The unused bits of its last byte are 0."""

    def unpack(stream: bytes) -> tuple[int, bool]:
        unpacker, checksum, count, block = zlib.decompressobj(-zlib.MAX_WBITS), 0, 0, b"-"
        while block and count <= size:
            block = unpacker.decompress(stream, _BLOCK)
            stream, checksum, count = unpacker.unconsumed_tail, zlib.crc32(block, checksum), count + len(block)
        return checksum, unpacker.eof and count == size and not unpacker.unused_data

    unpacked, whole = unpack(packed)
    if whole and packed[-1]:  # an unused bit may be cleared, and the stream is the same
        cleared = packed[:-1] + bytes([packed[-1] ^ 1 << packed[-1].bit_length() - 1])
        return unpack(cleared) != (unpacked, True)
    return whole


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
