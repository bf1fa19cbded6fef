"""Files out of the page cache, and the proof: every page counted absent. As src/residency.rs does it, in short."""

import ctypes
import mmap
import os
import time

import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)


class StillResident(Exception):
    """Pages of a file cannot be dropped, or counted."""


def drop(files):
    """Syncs and drops every file; StillResident names the first that keeps pages."""
    for attempt in range(5):
        time.sleep(0.05 * attempt)
        for path in files:
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
        kept = next(((path, pages) for path in files if (pages := resident(path))), None)
        if kept is None:
            return
    raise StillResident(f"{kept[0]}: {kept[1]} pages stay in the page cache")


def resident(path):
    """Pages of a file that are in the page cache."""
    # To anyone else the kernel calls every page resident.
    if os.geteuid() not in (0, os.stat(path).st_uid) and not os.access(path, os.W_OK):
        raise StillResident(f"{path}: only its owner can count its pages")
    size = os.path.getsize(path)
    if size == 0:
        return 0
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        flags = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(mapped)
        failed = LIBC.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), flags)
        # The mapping cannot be closed while it is lent.
        del start
        if failed:
            raise OSError(ctypes.get_errno(), "mincore", str(path))
        return int((np.frombuffer(flags, np.uint8) & 1).sum())
