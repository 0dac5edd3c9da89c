"""Where zlib's functions are, in the library that Python itself uses.

Neither headers nor a library to link with are needed that way. A Python that has zlib inside, and
shows nothing of it, has none for us.
"""

from __future__ import annotations

import struct
import sys
from typing import Final

_NAMES: Final = (
    "inflateInit2_",
    "inflate",
    "inflateReset",
    "inflateEnd",
    "deflateInit2_",
    "deflate",
    "deflateReset",
    "deflateEnd",
)


def zlib_functions() -> bytes | None:
    """Return the addresses of the functions, as C has pointers; None: they are not found."""
    import ctypes  # noqa: PLC0415 - only who compresses WebSocket messages needs them
    import zlib  # noqa: PLC0415

    if not zlib.ZLIB_RUNTIME_VERSION.startswith("1."):
        return None
    for path in (getattr(zlib, "__file__", None), None, *_LIBRARIES.get(sys.platform, ())):
        try:
            library = ctypes.CDLL(path)
            found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in _NAMES]
        except (OSError, AttributeError):
            continue
        return struct.pack(f"{len(found)}P", *found)
    return None


_LIBRARIES: Final = {"linux": ("libz.so.1",), "darwin": ("libz.1.dylib",)}
