"""A dataset of pcb as Python sees it: shapes, and where each crop lies.

Follows worker/formats/src/{dataset,crop}.rs.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as parquet

DTYPES = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32}


@dataclass(frozen=True)
class Form:
    """A variant whose stored form is on disk, as `read_forms DATASET` lists it."""

    format: str
    variant: str
    layout: str
    stored: str
    folder: Path
    files: list
    bytes: int

    @classmethod
    def parse(cls, line):
        row = json.loads(line)
        return cls(**{**row, "folder": Path(row["folder"]), "files": [Path(file) for file in row["files"]]})

    @property
    def name(self):
        return f"{self.format}:{self.variant}/{self.layout}"


class Window(NamedTuple):
    """What one crop needs of a stored image, and how it is padded."""

    image: int  # site index, or object row in the object layout
    y0: int
    y1: int
    x0: int
    x1: int
    pad: tuple | None  # rows and columns to mirror, as numpy.pad wants them
    fold: tuple | None  # row and column maps instead, where the overhang is larger than what is inside


class Dataset:
    """dataset.json and objects.parquet."""

    def __init__(self, root):
        self.root = Path(root)
        self.info = json.loads((self.root / "dataset.json").read_text())
        self.dtype = np.dtype(DTYPES[self.info["dtype"]])
        self.channels = len(self.info["channels"])
        self.sites = self.info["sites"]
        self.record = (self.channels, self.info["record"]["height"], self.info["record"]["width"])
        table = parquet.read_table(self.root / "objects.parquet")
        self.ids = table["object_id"].to_pylist()
        self.site_of = table["site_index"].to_pylist()
        self.centers = list(zip(table["center_y"].to_pylist(), table["center_x"].to_pylist()))

    def __len__(self):
        return len(self.ids)

    def site_name(self, index):
        """File stem of a site: PLATE-WELL-sSITE."""
        site = self.sites[index]

        def safe(text):
            return "".join(c if (c.isascii() and c.isalnum()) or c in "._" else "_" for c in text)

        return f"{safe(site['plate'])}-{safe(site['well'])}-s{safe(site['site'])}"

    def site_files(self, folder, extension):
        return [folder / f"{self.site_name(index)}.{extension}" for index in range(len(self.sites))]

    def image_shape(self, layout, image):
        """(C, Y, X) of a stored image."""
        if layout == "object":
            return self.record
        site = self.sites[image]
        return (self.channels, site["height"], site["width"])

    def window(self, layout, row, crop):
        """The window of `crop` x `crop` pixels around row `row` of the object table."""
        if layout == "object":
            # Records are padded already; a crop is their centre.
            y0, x0 = (size // 2 - crop // 2 for size in self.record[1:])
            return Window(row, y0, y0 + crop, x0, x0 + crop, None, None)
        image = self.site_of[row]
        _, height, width = self.image_shape(layout, image)
        ys, xs = (
            _axis(centre, length, crop) for centre, length in zip(self.centers[row], (height, width))
        )
        if ys.pad is None or xs.pad is None:
            rows, columns = ys.folded(), xs.folded()
            fold = (rows[:, None] - rows.min(), columns[None, :] - columns.min())
            y0, y1, x0, x1 = (int(at) for at in (rows.min(), rows.max() + 1, columns.min(), columns.max() + 1))
            return Window(image, y0, y1, x0, x1, None, fold)
        pad = ((0, 0), ys.pad, xs.pad) if any(ys.pad + xs.pad) else None
        return Window(image, ys.start, ys.stop, xs.start, xs.stop, pad, None)


class _Axis(NamedTuple):
    first: int
    size: int
    length: int

    @property
    def start(self):
        return max(self.first, 0)

    @property
    def stop(self):
        return min(self.first + self.size, self.length)

    @property
    def pad(self):
        """Pixels to mirror before and after; None where one mirror image of the inner part is too short."""
        before, after = max(-self.first, 0), max(self.first + self.size - self.length, 0)
        return (before, after) if max(before, after) < self.stop - self.start else None

    def folded(self):
        """Source index of each position, mirrored as often as needed."""
        at = np.arange(self.first, self.first + self.size)
        if self.length == 1:
            return np.zeros_like(at)
        at %= 2 * (self.length - 1)
        return np.minimum(at, 2 * (self.length - 1) - at)


def _axis(centre, length, crop):
    # Halves round away from zero; a centre that rounds to just past an edge is the pixel at the edge.
    nearest = int(math.copysign(math.floor(abs(centre) + 0.5), centre))
    nearest = {-1: 0, length: length - 1}.get(nearest, nearest)
    return _Axis(nearest - crop // 2, crop, length)
