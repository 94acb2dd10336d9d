#!/usr/bin/env python3
"""Makes `argo.dict`, the second zstd dictionary for head copies and sections (archive.md, section 1): for files of Argo floats.

Their headers are templates of the Argo user's manual (profiles) and of ERDDAP with the attributes of ACDD (tables): 12 to 23 KB, the same but for numbers
in millions of files. The dictionary's content is such headers as they are, without what tells one file's history, and then that of `head.dict`.

    make_argo.py -o argo.dict FILE.nc ...      # made from four files of the argopy project's test data: a profile file of version 3.1 with
                                               # temperature, salinity and pressure, a synthetic one, an ERDDAP table of each
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make  # noqa: E402

DICTIONARY_ID = 50_018
# Attributes of one file.
OWN = ("history", "date_update", "date_created", "date_modified", "time_coverage_start", "time_coverage_end")


def template(path):
    """A header without the attributes that are one file's own."""
    data = path.read_bytes()
    header = make.nc3z_ref.Header(data)
    out = data[:header.length]
    for a in header.atts:
        if a.name.decode(errors="replace") in OWN:
            whole = make.text(a.name.decode(), a.value.decode(errors="surrogateescape")) if a.type == make.CHAR else b""
            out = out.replace(whole, b"", 1) if whole else out
    return out


def main():
    parser = argparse.ArgumentParser(description="Makes the dictionary for heads of Argo files.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a classic file whose header is a template, the commonest last")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT")
    options = parser.parse_args()
    headers = [template(path) for path in options.files]
    samples = [header[i:i + 4000] + make.OURS[-1] for header in headers for i in range(0, len(header), 4000)]
    options.output.write_bytes(make.finalize(samples, b"".join(headers) + make.content(), DICTIONARY_ID))
    print(f"{options.output}: {options.output.stat().st_size} bytes, of {len(headers)} headers")


if __name__ == "__main__":
    main()
