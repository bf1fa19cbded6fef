"""zarr-python: the array of each field of a plate, versions 2 and 3, sharded or not."""

import json
import re
from collections import Counter

import zarr

from ..reading import PerImage


class Fields(PerImage):
    """One array (C, Y, X) for each site."""

    def open_file(self, path):
        return zarr.open_array(path, mode="r")

    def rect(self, image, y0, y1, x0, x1):
        return self.file(image)[:, y0:y1, x0:x1]


def attributes(folder):
    """The OME attributes of a group of either version."""
    if (folder / "zarr.json").exists():
        return json.loads((folder / "zarr.json").read_text())["attributes"]["ome"]
    return json.loads((folder / ".zattrs").read_text())


def well_name(path):
    """A/1 and A/01 as A01."""
    row, column = path.split("/")
    return f"{row}{int(column):02}" if column.isdigit() else row + column


def plates(form):
    """Folders of plates, by name."""
    roots = {parent for file in form.files for parent in file.parents if parent.suffix == ".zarr"}
    return {root.stem: root for root in sorted(roots)}


def fields(plate):
    """Field folders of each well of a plate, by the well's name."""
    wells = (well["path"] for well in attributes(plate)["plate"]["wells"])
    images = {well: attributes(plate / well)["well"]["images"] for well in wells}
    return {well_name(well): [plate / well / image["path"] for image in found] for well, found in images.items()}


def arrays(form, dataset):
    """Folder of each site's full-size array: the sites of a well are its fields, in order."""
    known = {name: fields(root) for name, root in plates(form).items()}
    paths, seen = [], Counter()
    for index, site in enumerate(dataset.sites):
        plate = dataset.site_name(index).removesuffix(f"-{site['well']}-s{site['site']}")
        named = re.fullmatch(r"([A-Za-z]+)(\d+)", site["well"])
        well = f"{named[1]}{int(named[2]):02}" if named else site["well"]
        # A single plate may have any name.
        wells = known[plate] if plate in known else known[next(iter(known))]
        field = wells[well][seen[plate, well]]
        seen[plate, well] += 1
        paths.append(field / attributes(field)["multiscales"][0]["datasets"][0]["path"])
    return paths


def readers(form, dataset):
    paths = arrays(form, dataset)
    return {"zarr": lambda: Fields(paths)}
