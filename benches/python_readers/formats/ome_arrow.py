"""OME-Arrow in Parquet: ome-arrow itself, and pyarrow with no more than it needs."""

from itertools import accumulate

import numpy as np
import pyarrow.parquet as parquet
from ome_arrow import OMEArrow
from ome_arrow.dataset import OMEArrowDataset

from ..reading import Source, paste
from .arrow_image import cut, one_row

CHUNKS = "chunks.parquet"
COLUMN = "image"


class Table(Source):
    """A row for each image. Neither library can skip pages: a read decodes the row group."""

    def __init__(self, path, dataset, layout):
        self.path, self.dataset, self.layout = path, dataset, layout


class TableByOmeArrow(Table):
    """OMEArrow.scan and a tensor view of the crop."""

    def rect(self, image, y0, y1, x0, x1):
        scanned = OMEArrow.scan(str(self.path), column_name=COLUMN, row_index=image)
        return scanned.tensor_view(roi=(x0, y0, x1 - x0, y1 - y0), layout="CYX").to_numpy()


class TableByPyarrow(Table):
    """The row group of an image, its pixel column alone, out of a file kept open."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.file = parquet.ParquetFile(self.path, memory_map=True)
        groups = self.file.metadata
        self.firsts = [0, *accumulate(groups.row_group(at).num_rows for at in range(groups.num_row_groups))]
        self.pixels = f"{COLUMN}.{self.kind(groups.row_group(0))}"

    def kind(self, group):
        """Planes hold whole channels; where they are, chunks repeat their pixels."""
        for at in range(group.num_columns):
            column = group.column(at)
            if column.path_in_schema.startswith(f"{COLUMN}.planes.list.element.pixels"):
                # An image without planes counts as one missing value.
                return "planes" if column.num_values > group.num_rows else "chunks"
        return "chunks"

    def rect(self, image, y0, y1, x0, x1):
        group = int(np.searchsorted(self.firsts, image, side="right")) - 1
        table = self.file.read_row_group(group, columns=[self.pixels], use_threads=False)
        row = one_row(table.column(COLUMN), image - self.firsts[group])
        shape = self.dataset.image_shape(self.layout, image)
        return cut(row, shape, self.dataset.dtype, (y0, y1, x0, x1))

    def close(self):
        self.file.close()


class Folders(Source):
    """A chunk dataset for each site, opened when first touched; an image for each record, or one of the site."""

    def __init__(self, folder, dataset, layout):
        self.folder, self.dataset, self.layout, self.sites = folder, dataset, layout, {}

    def site(self, image):
        """What `open_folder` returned for the site of an image, and the id of the image."""
        index = self.dataset.site_of[image] if self.layout == "object" else image
        site = self.sites.get(index)
        if site is None:
            folder = self.folder / self.dataset.site_name(index)
            # Other writers put all images into one.
            site = self.sites[index] = self.open_folder(folder if folder.exists() else self.folder)
        return site, self.dataset.ids[image] if self.layout == "object" else None

    def close(self):
        self.sites = {}


class FoldersByOmeArrow(Folders):
    """OMEArrowDataset.read_region."""

    def open_folder(self, folder):
        return OMEArrowDataset(folder)

    def rect(self, image, y0, y1, x0, x1):
        site, name = self.site(image)
        return site.read_region(name, y=slice(y0, y1), x=slice(x0, x1))[0, :, 0]


class FoldersByPyarrow(Folders):
    """The row groups of the chunks that a crop meets; the index is kept as plain numbers by image."""

    def open_folder(self, folder):
        index, images = parquet.read_table(folder / "index.parquet").to_pydict(), {}
        numbers = ("row_group_id", "row_index_in_group", "c", "y", "x", "shape_c", "shape_y", "shape_x")
        for name, *chunk in zip(index["image_id"], *(index[number] for number in numbers)):
            images.setdefault(name, []).append(chunk)
        return parquet.ParquetFile(folder / CHUNKS, memory_map=True), images

    def rect(self, image, y0, y1, x0, x1):
        (file, images), name = self.site(image)
        chunks = images[name] if name is not None else next(iter(images.values()))
        met = [chunk for chunk in chunks if chunk[3] < y1 and chunk[4] < x1 and chunk[3] + chunk[6] > y0
               and chunk[4] + chunk[7] > x0]
        groups = sorted({chunk[0] for chunk in met})
        table = file.read_row_groups(groups, columns=["pixel_bytes"], use_threads=False)
        pixels = table.column("pixel_bytes")
        rows = [file.metadata.row_group(group).num_rows for group in groups]
        firsts = dict(zip(groups, [0, *accumulate(rows)]))
        out = np.empty((self.dataset.channels, y1 - y0, x1 - x0), self.dataset.dtype)
        for group, row, c, y, x, channels, height, width in met:
            tiles = np.frombuffer(pixels[firsts[group] + row].as_buffer(), out.dtype)
            for plane, tile in zip(out[c : c + channels], tiles.reshape(channels, height, width)):
                paste(plane, (y0, x0), tile, (y, x))
        return out

    def close(self):
        for file, _ in self.sites.values():
            file.close()
        super().close()


def readers(form, dataset):
    if any(file.name == CHUNKS for file in form.files):
        place, kinds = form.folder, {"ome-arrow": FoldersByOmeArrow, "pyarrow": FoldersByPyarrow}
    else:
        (place,) = [file for file in form.files if file.suffix == ".parquet"]
        kinds = {"ome-arrow": TableByOmeArrow, "pyarrow": TableByPyarrow}
    return {label: (lambda kind=kind: kind(place, dataset, form.layout)) for label, kind in kinds.items()}
