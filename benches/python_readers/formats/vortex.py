"""vortex-data: rows of an OME-Arrow table by number."""

import pyarrow as pa
import vortex

from ..reading import Source
from .arrow_image import cut


class Table(Source):
    """One file, a row for each image."""

    def __init__(self, path, dataset, layout):
        self.dataset, self.layout = dataset, layout
        self.file = vortex.open(str(path))

    def rect(self, image, y0, y1, x0, x1):
        indices = vortex.array(pa.array([image], pa.uint64()))
        row = self.file.scan(["image"], indices=indices).read_all().to_arrow_array().field("image")
        return cut(row, self.dataset.image_shape(self.layout, image), self.dataset.dtype, (y0, y1, x0, x1))

    def close(self):
        self.file = None


def readers(form, dataset):
    (path,) = form.folder.glob("*.vortex")
    return {"vortex": lambda: Table(path, dataset, form.layout)}
