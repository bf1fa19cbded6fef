"""tifffile: whole pages, the zarr view, single segments, and mapped files where nothing is packed."""

import numpy as np
import tifffile
import zarr

from ..reading import Source, paste


class Pages(Source):
    """The page of each channel of each site; `places[site]` lists (path, page number) of its channels."""

    def __init__(self, places):
        self.places = places
        self.files, self.open_sites = {}, [None] * len(places)

    def site(self, image):
        """What `open_page` returned for each channel."""
        channels = self.open_sites[image]
        if channels is None:
            pages = []
            for path, number in self.places[image]:
                if path not in self.files:
                    self.files[path] = tifffile.TiffFile(path)
                pages.append(self.files[path].pages.get(number, aspage=True))
            channels = self.open_sites[image] = self.open_pages(pages)
        return channels

    def open_pages(self, pages):
        return [self.open_page(page) for page in pages]

    def open_page(self, page):
        return page

    def rect(self, image, y0, y1, x0, x1):
        return np.stack([channel[y0:y1, x0:x1] for channel in self.site(image)])

    def close(self):
        self.open_sites = [None] * len(self.places)
        for file in self.files.values():
            file.close()
        self.files = {}


class Whole(Pages):
    """page.asarray, then cut."""

    def rect(self, image, y0, y1, x0, x1):
        return np.stack([page.asarray(maxworkers=1)[y0:y1, x0:x1] for page in self.site(image)])


class ZarrView(Pages):
    """The zarr view of a page, or of a series where one file holds all channels."""

    def open_pages(self, pages):
        paths = {page.parent.filehandle.path for page in pages}
        if len(paths) == 1 and len(pages) > 1:
            (file,) = {page.parent for page in pages}
            series = file.series[0]
            if series.levels[0].shape == (len(pages), *pages[0].shape):
                return [self.view(series, level=0)]
        return [self.view(page) for page in pages]

    def view(self, image, **options):
        return zarr.open_array(image.aszarr(maxworkers=1, **options), mode="r")

    def rect(self, image, y0, y1, x0, x1):
        views = self.site(image)
        if views[0].ndim == 3:
            return views[0][:, y0:y1, x0:x1]
        return np.stack([view[y0:y1, x0:x1] for view in views])


class Segments(Pages):
    """Only the strips or tiles that a crop meets, through page.decode."""

    def rect(self, image, y0, y1, x0, x1):
        pages = self.site(image)
        out = np.empty((len(pages), y1 - y0, x1 - x0), pages[0].dtype)
        for page, plane in zip(pages, out):
            height, width = page.chunks[:2]
            across = page.chunked[1]
            file = page.parent.filehandle
            for down in range(y0 // height, -(-y1 // height)):
                for right in range(x0 // width, -(-x1 // width)):
                    index = down * across + right
                    file.seek(page.dataoffsets[index])
                    packed = file.read(page.databytecounts[index])
                    tile = page.decode(packed, index)[0][0, :, :, 0]
                    paste(plane, (y0, x0), tile, (down * height, right * width))
        return out


class Mapped(Pages):
    """tifffile.memmap of each page."""

    def open_page(self, page):
        return tifffile.memmap(page.parent.filehandle.path, page=page.index, mode="r")


class Records(Source):
    """A file for each record, opened and closed for each sample; a page for each channel."""

    def __init__(self, paths):
        self.paths = paths

    def rect(self, image, y0, y1, x0, x1):
        with tifffile.TiffFile(self.paths[image]) as file:
            return np.stack([page.asarray(maxworkers=1)[y0:y1, x0:x1] for page in file.pages])


class RecordsByImread(Records):
    """tifffile.imread, which parses the OME-XML too."""

    def rect(self, image, y0, y1, x0, x1):
        return tifffile.imread(self.paths[image], maxworkers=1)[:, y0:y1, x0:x1]


def places(form, dataset):
    """(path, page number) of each channel of each site."""
    if form.stored == "source":
        return [[(dataset.root / file["path"], file["page"]) for file in site["source"]] for site in dataset.sites]
    names = [dataset.site_name(index) for index in range(len(dataset.sites))]
    channels = range(dataset.channels)
    if form.format == "tiff":
        return [[(form.folder / f"{name}-c{channel}.tif", 0) for channel in channels] for name in names]
    return [[(form.folder / f"{name}.ome.tif", channel) for channel in channels] for name in names]


def readers(form, dataset):
    if form.layout == "object":
        paths = sorted(form.files)
        return {"tifffile imread": lambda: RecordsByImread(paths), "tifffile pages": lambda: Records(paths)}
    where = places(form, dataset)
    kinds = {"tifffile asarray": Whole, "tifffile zarr": ZarrView, "tifffile segments": Segments}
    if form.variant.endswith("-mmap"):
        path, number = where[0][0]
        with tifffile.TiffFile(path) as file:
            mappable = file.pages.get(number, aspage=True).is_memmappable
        # It maps strips that follow each other; tiles it cannot.
        kinds = {"tifffile memmap": Mapped} if mappable else kinds
    return {label: (lambda kind=kind: kind(where)) for label, kind in kinds.items()}
