"""SVG as pixels and as PNG.

ThorVG rasterises: one small wheel that needs no library of the system and searches no fonts. PNG is written with
the standard library.
"""

import struct
import zlib
from functools import cache
from threading import Lock

import numpy as np
import numpy.typing as npt
from thorvg_python.base import Colorspace, Result
from thorvg_python.canvas.sw import SwCanvas
from thorvg_python.engine import Engine
from thorvg_python.paint.picture import Picture

_LOCK = Lock()
"""Lock of the engine, which all threads share."""


@cache
def _engine() -> Engine:
    return Engine(threads=0)


def rasterise(svg: str) -> npt.NDArray[np.uint8]:
    """Rasterise an SVG document in its own size.

    Args:
        svg: a document drawn by `quincunx_env.render.svg.draw`, whose ground is opaque.

    Returns:
        uint8 [height, width, 3], red, green and blue.

    Raises:
        ValueError: if it cannot be read.
    """
    with _LOCK:
        engine = _engine()
        picture = Picture(engine)
        # A copy: the engine keeps data that it does not own as long as their address is known.
        if picture.load_data(svg.encode(), "svg", None, copy=True) != Result.SUCCESS:
            raise ValueError("the SVG document cannot be rasterised: pass one that quincunx_env.render.svg drew")
        _, *size = picture.get_size()
        width, height = map(round, size)
        canvas = SwCanvas(engine)
        try:
            canvas.set_target(width, height, cs=Colorspace.ABGR8888)
            canvas.add(picture)
            canvas.draw(True)
            canvas.sync()
            assert canvas.buffer_arr is not None
            pixels = np.frombuffer(memoryview(canvas.buffer_arr), np.uint8).reshape(height, width, 4)
            return np.ascontiguousarray(pixels[:, :, :3])
        finally:
            canvas.destroy()


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return a picture, uint8 [height, width, 3], as a PNG file."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: 0, none
    rows[:, 1:] = pixels.reshape(height, 3 * width)
    parts = {
        b"IHDR": struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0),
        b"IDAT": zlib.compress(rows.tobytes(), 9),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
