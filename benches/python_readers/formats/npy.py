"""numpy: mapped, read at offsets, opened for each sample, and a file for each record."""

import os

import numpy as np

from ..reading import PerImage, Source


class Mapped(PerImage):
    """numpy.load with mmap_mode, kept."""

    mapped = True

    def open_file(self, path):
        return np.load(path, mmap_mode="r")

    def rect(self, image, y0, y1, x0, x1):
        return self.file(image)[:, y0:y1, x0:x1]


class MappedStack(Source):
    mapped = True

    def __init__(self, path):
        self.stack = np.load(path, mmap_mode="r")

    def rect(self, image, y0, y1, x0, x1):
        return self.stack[image, :, y0:y1, x0:x1]

    def close(self):
        self.stack = None


class Reopened(Source):
    """numpy.load with mmap_mode for each sample."""

    mapped = True

    def __init__(self, paths, stacked):
        self.paths, self.stacked = paths, stacked

    def rect(self, image, y0, y1, x0, x1):
        if self.stacked:
            return np.load(self.paths[0], mmap_mode="r")[image, :, y0:y1, x0:x1]
        return np.load(self.paths[image], mmap_mode="r")[:, y0:y1, x0:x1]


class Pread(Source):
    """os.preadv of the rows of each channel, at offsets known from the header; a file is kept or opened each time."""

    def __init__(self, paths, stacked, keep):
        self.paths, self.stacked, self.keep = paths, stacked, keep
        self.kept, self.headers = {}, {}
        self.scratch = np.empty(0, np.uint8)

    def rect(self, image, y0, y1, x0, x1):
        which = 0 if self.stacked else image
        file = self.kept.get(which)
        if file is None:
            file = os.open(self.paths[which], os.O_RDONLY)
            if self.keep:
                self.kept[which] = file
        header = self.headers.get(which)
        if header is None:
            header = self.headers[which] = self.header(self.paths[which])
        start, dtype, (channels, height, width) = header
        if self.stacked:
            start += image * channels * height * width * dtype.itemsize
        if (y1 - y0, x1 - x0) == (height, width):
            pixels = np.empty((channels, height, width), dtype)
            os.preadv(file, [pixels], start)
        else:
            pixels = self.rows(file, start, dtype, (channels, height, width), (y0, y1, x0, x1))
        if not self.keep:
            os.close(file)
        return pixels

    def rows(self, file, start, dtype, shape, rect):
        """A view of whole rows, read channel by channel."""
        channels, height, width = shape
        y0, y1, x0, x1 = rect
        span = (y1 - y0) * width * dtype.itemsize
        if len(self.scratch) < channels * span:
            self.scratch = np.empty(channels * span, np.uint8)
        for channel in range(channels):
            at = start + (channel * height + y0) * width * dtype.itemsize
            os.preadv(file, [self.scratch[channel * span : (channel + 1) * span]], at)
        return self.scratch[: channels * span].view(dtype).reshape(channels, y1 - y0, width)[:, :, x0:x1]

    def header(self, path):
        """(offset of the first pixel, dtype, shape of an image)."""
        array = np.load(path, mmap_mode="r")
        return array.offset, array.dtype, array.shape[-3:]

    def close(self):
        for file in self.kept.values():
            os.close(file)
        self.kept = {}


class Each(Source):
    """numpy.load of a whole file for each sample."""

    def __init__(self, folder):
        self.folder = folder

    def rect(self, image, y0, y1, x0, x1):
        return np.load(f"{self.folder}/{image:06}.npy")[:, y0:y1, x0:x1]


def readers(form, dataset):
    if form.layout == "object" and (form.folder / "000000.npy").exists():
        return {"numpy.load": lambda: Each(form.folder)}
    stacked = form.layout == "object"
    paths = form.files if stacked else dataset.site_files(form.folder, "npy")
    if form.variant == "mmap":
        return {"numpy memmap": lambda: MappedStack(paths[0]) if stacked else Mapped(paths)}
    if form.variant == "reopen":
        return {
            "numpy memmap, anew": lambda: Reopened(paths, stacked),
            "os.preadv, anew": lambda: Pread(paths, stacked, keep=False),
        }
    return {"os.preadv": lambda: Pread(paths, stacked, keep=True)}
