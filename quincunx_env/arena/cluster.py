"""Whether a Ray cluster answers, known before Ray tries for minutes."""

import os
import socket

TIMEOUT = 10.0
"""Seconds in which a cluster must answer."""

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""Begins an HTTP/2 connection, with an empty SETTINGS frame; a gRPC server such as Ray's replies with another."""

_SETTINGS = 4
"""Type of that frame, its fourth byte."""


def require_cluster(address: str) -> None:
    """Check that a Ray cluster answers at an address, as ``ray.init`` takes it.

    ``auto`` and ``local`` are not checked: Ray itself knows at once.

    Raises:
        ConnectionError: if no cluster answers within `TIMEOUT`, or if the address has another form.
    """
    if address in ("auto", "local"):
        return
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if not separator or not port.isdigit():
        raise ConnectionError(f"the address of a Ray cluster must be auto, local or host:port, got {address!r}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), TIMEOUT) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                connection.sendall(_PREFACE)
                if connection.recv(9)[3:4] != bytes((_SETTINGS,)):
                    raise ConnectionError("another program answers")
    except (OSError, OverflowError) as error:
        raise ConnectionError(
            f"no Ray cluster answers at {address} within {TIMEOUT:.0f} seconds ({error}): start it with ray start "
            "--head, or give the address that ray start prints"
        ) from None
