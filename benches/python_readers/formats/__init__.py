"""Which Python readers a stored form has. One module for each format; each has

    readers(form, dataset) -> {label: function that opens a reading.Source}
"""

from importlib import import_module

MODULES = {
    "hdf5": "hdf5",
    "lance": "lance",
    "npy": "npy",
    "ome-arrow": "ome_arrow",
    "ome-tiff": "tiff",
    "ome-zarr": "ome_zarr",
    "png": "png",
    "safetensors": "safetensors",
    "tiff": "tiff",
    "vortex": "vortex",
    "webdataset": "webdataset",
}


def readers(form, dataset):
    """Readers of a form by label. ImportError names the package that is missing, LookupError a format unknown here."""
    if form.format not in MODULES:
        raise LookupError(f"no Python reader is known for {form.format}")
    return import_module(f"{__name__}.{MODULES[form.format]}").readers(form, dataset)
