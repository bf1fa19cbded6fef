"""pylance: rows of an OME-Arrow table taken by number."""

import lance

from ..reading import Source
from .arrow_image import cut, one_row


class Table(Source):
    """One dataset, a row for each image."""

    def __init__(self, path, dataset, layout):
        self.dataset, self.layout = dataset, layout
        self.table = lance.dataset(path)

    def rect(self, image, y0, y1, x0, x1):
        row = one_row(self.table.take([image], columns=["image"]).column("image"), 0)
        return cut(row, self.dataset.image_shape(self.layout, image), self.dataset.dtype, (y0, y1, x0, x1))

    def close(self):
        self.table = None


def readers(form, dataset):
    (path,) = form.folder.glob("*.lance")
    return {"pylance": lambda: Table(path, dataset, form.layout)}
