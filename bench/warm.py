"""Touch memory once, so that a virtual machine has it: `python -m bench.warm 12` for 12 GiB.

The host gives a page when it is first touched, which took 11 us a page on one machine: 45 us for
each 16 KiB that a server writes into files, to pages that nothing has used since the machine began.
So the first rows that are measured there say what the host does. Touched pages are freed here, and
what is written next gets them.
"""

from __future__ import annotations

import argparse
import mmap
import time
from typing import Final

MADV_POPULATE_WRITE: Final = 23  # Linux 5.14; `mmap` has no name for it
GIB: Final = 1 << 30


def warm(gib: int) -> float:
    """Touch so many GiB; return the seconds that took.

    Raises:
        OSError: There is not so much memory, or the kernel can't.
    """
    begin_s = time.perf_counter()
    with mmap.mmap(-1, gib * GIB) as memory:
        for at in range(gib):
            memory.madvise(MADV_POPULATE_WRITE, at * GIB, GIB)
    return time.perf_counter() - begin_s


def main() -> None:
    """Touch what the command line says, twice: the second time shows what was gained."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gib", type=int, help="no more than half of what `free` calls free")
    gib = parser.parse_args().gib
    first_s, again_s = warm(gib), warm(gib)
    print(f"{gib} GiB touched in {first_s:.1f} s, again in {again_s:.1f} s")


if __name__ == "__main__":
    main()
