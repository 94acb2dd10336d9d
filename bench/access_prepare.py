#!/usr/bin/env python3
"""Writes one variable (time, lat, lon) in every form that bench/access reads: `access_prepare.py DIR [--nc3z PATH]`.

The field is made, since no file at hand has both long series and large maps: temperatures of 120 months on a grid of half a
degree, a climatology with seasons plus noise with a spectrum of k^-3 in space and a memory of 0.9 from month to month, stored
as float with all its bits. Every tiled form is written twice with tiles of about 1 MB: whole maps, and boxes. Blosc2 decodes blocks of
some ten KB inside those; nc3z is written with boxes of 62 KB too, which is what who reads points would ask for.
"""
import argparse
import json
import os
import shutil
import subprocess

import numpy as np

SHAPE = (120, 361, 720)
TILES = {"maps": (1, 361, 720), "boxes": (15, 91, 180)}
SMALL = (15, 23, 45)


def field():
    t, y, x = SHAPE
    random = np.random.default_rng(20)
    ky, kx = np.fft.fftfreq(y)[:, None] * y, np.fft.rfftfreq(x)[None, :] * x
    k = np.maximum(np.hypot(ky, kx), 1.0)
    weight = k ** -1.5
    lat = np.linspace(-90, 90, y)[:, None]
    mean = 300 - 45 * np.sin(np.radians(lat)) ** 2
    season = 12 * np.sin(np.radians(lat))
    state, out = 0, np.empty(SHAPE, "f4")
    for month in range(t):
        noise = np.fft.irfft2(np.fft.rfft2(random.standard_normal((y, x))) * weight, s=(y, x))
        noise *= 3 / noise.std()
        state = noise if month == 0 else 0.9 * state + np.sqrt(1 - 0.81) * noise
        out[month] = mean + season * np.cos(2 * np.pi * month / 12) + state
    return out


def classic(path, data):
    import netCDF4
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as f:
        for name, n in zip(("time", "lat", "lon"), SHAPE):
            f.createDimension(name, n)
        f.createVariable("t", "f4", ("time", "lat", "lon"))[...] = data


def hdf5(path, source, tile, filters):
    """By nccopy, since netCDF4-python leaves the shuffle out before zstd."""
    import hdf5plugin
    cut = ",".join(f"{d}/{n}" for d, n in zip(("time", "lat", "lon"), tile))
    subprocess.run(["nccopy", "-4", "-F", f"t,{filters}", "-c", cut, source, path], check=True,
                   env={**os.environ, "HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH})


def zarr(path, data, tile):
    import zarr as z
    codec = z.codecs.BloscCodec(cname="zstd", clevel=5, shuffle="shuffle")
    array = z.open_group(path, mode="w").create_array("t", shape=data.shape, dtype=data.dtype, chunks=tile, compressors=[codec])
    array[...] = data


def blosc2(path, data, tile):
    import blosc2 as b2
    params = b2.CParams(codec=b2.Codec.ZSTD, clevel=5, typesize=4, filters=[b2.Filter.SHUFFLE], filters_meta=[0])
    b2.asarray(data, urlpath=path, mode="w", cparams=params, chunks=tile)


def size_of(path):
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--nc3z", default=f"{here}/../target/release/nc3z")
    p.add_argument("--only-nc3z", action="store_true", help="the peers' files are there already")
    args = p.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    at = lambda name: os.path.join(args.folder, name)
    contenders = []

    def add(name, kind, path):
        contenders.append(dict(name=name, kind=kind, path=path, bytes=size_of(at(path))))

    if args.only_nc3z:
        data = np.fromfile(at("raw.bin"), "f4").reshape(SHAPE)
    else:
        data = field()
        data.tofile(at("raw.bin"))
        classic(at("t.nc"), data)
    add("classic, nc3z-reader", "nc3z", "t.nc")
    add("classic, netcdf-c", "netcdf", "t.nc")
    add("classic, netcdf-reader", "netcdf-reader", "t.nc")
    for layout, tile in TILES.items():
        shape = ",".join(f"{d}={n}" for d, n in zip(("time", "lat", "lon"), tile))
        cut = ["--layout", "linear"] if layout == "maps" else ["--tile", shape]
        for preset in ("fast", "default"):
            out = f"{preset}-{layout}.nc3z"
            subprocess.run([args.nc3z, "archive", "--force", "--preset", preset, *cut, at("t.nc"), "-o", at(out)], check=True)
            add(f"nc3z {preset}, {layout}", "nc3z", out)
        add(f"nc3z default, {layout}, no cache", "nc3z uncached", f"default-{layout}.nc3z")
    for preset in ("fast", "default"):
        out = f"{preset}-small.nc3z"
        shape = ",".join(f"{d}={n}" for d, n in zip(("time", "lat", "lon"), SMALL))
        subprocess.run([args.nc3z, "archive", "--force", "--preset", preset, "--tile", shape, at("t.nc"), "-o", at(out)], check=True)
        add(f"nc3z {preset}, small boxes", "nc3z", out)
    for layout, tile in TILES.items():
        for named, filters in (("deflate 5", "2|1,5"), ("zstd 9", "2|32015,9")):
            out = f"{named.replace(' ', '')}-{layout}.nc4"
            if not args.only_nc3z:
                hdf5(at(out), at("t.nc"), tile, filters)
            add(f"netcdf-c, shuffle+{named}, {layout}", "netcdf", out)
            if named == "deflate 5":
                add(f"netcdf-reader, shuffle+{named}, {layout}", "netcdf-reader", out)
        if not args.only_nc3z:
            zarr(at(f"{layout}.zarr"), data, tile)
            shutil.rmtree(at(f"{layout}.b2nd"), ignore_errors=True)
            blosc2(at(f"{layout}.b2nd"), data, tile)
        add(f"zarrs, blosc shuffle+zstd 5, {layout}", "zarrs", f"{layout}.zarr")
        add(f"blosc2, shuffle+zstd 5, {layout}", "blosc2", f"{layout}.b2nd")
    with open(at("manifest.json"), "w") as f:
        json.dump(dict(shape=SHAPE, raw="raw.bin", contenders=contenders), f, indent=1)
    for c in contenders:
        print(f"{c['bytes']:>12}  {c['name']}")


if __name__ == "__main__":
    main()
