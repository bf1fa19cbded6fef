"""h5py, with the chunk cache off as in the native reader, and as it comes."""

import h5py
import numpy as np

from ..reading import PerImage, Source


class Stack(Source):
    """One file of records."""

    def __init__(self, path, options):
        self.h5 = h5py.File(path, "r", **options)
        self.keeps_decoded = keeps_chunks(options)
        self.images = only_array(self.h5, 4)

    def rect(self, image, y0, y1, x0, x1):
        return self.images[image, :, y0:y1, x0:x1]

    def close(self):
        self.h5.close()


class Sites(PerImage):
    """A file for each site."""

    def __init__(self, paths, options):
        super().__init__(paths)
        self.options, self.handles = options, []
        self.keeps_decoded = keeps_chunks(options)

    def open_file(self, path):
        self.handles.append(h5py.File(path, "r", **self.options))
        return only_array(self.handles[-1], 3)

    def rect(self, image, y0, y1, x0, x1):
        return self.file(image)[:, y0:y1, x0:x1]

    def close(self):
        super().close()
        for handle in self.handles:
            handle.close()
        self.handles = []


def mapped(path, axes):
    """The pixels of a contiguous dataset, mapped where h5py says that they lie."""
    with h5py.File(path, "r") as h5:
        pixels = only_array(h5, axes)
        return np.memmap(path, pixels.dtype, "r", pixels.id.get_offset(), pixels.shape)


class MappedStack(Source):
    """One file of records, mapped."""

    mapped = True

    def __init__(self, path):
        self.images = mapped(path, 4)

    def rect(self, image, y0, y1, x0, x1):
        return self.images[image, :, y0:y1, x0:x1]

    def close(self):
        self.images = None


class MappedSites(PerImage):
    """A file for each site, mapped."""

    mapped = True

    def open_file(self, path):
        return mapped(path, 3)

    def rect(self, image, y0, y1, x0, x1):
        return self.file(image)[:, y0:y1, x0:x1]


def keeps_chunks(options):
    return options.get("rdcc_nbytes") != 0


def only_array(h5, axes):
    """The dataset of pixels of a file."""
    return next(item for item in h5.values() if isinstance(item, h5py.Dataset) and item.ndim == axes)


def readers(form, dataset):
    def opener(options):
        if form.layout == "object":
            return lambda: Stack(form.files[0], options)
        return lambda: Sites(dataset.site_files(form.folder, "h5"), options)

    if form.variant == "contiguous-mmap":
        if form.layout == "object":
            return {"h5py get_offset, numpy memmap": lambda: MappedStack(form.files[0])}
        return {"h5py get_offset, numpy memmap": lambda: MappedSites(dataset.site_files(form.folder, "h5"))}
    return {"h5py, cache 0": opener({"rdcc_nbytes": 0}), "h5py": opener({})}
