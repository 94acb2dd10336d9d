"""Writes nc3z-format/src/units/table.txt from the XML database of UDUNITS-2 (Debian: libudunits2-data).

    python3 scripts/units_table.py /usr/share/xml/udunits > nc3z-format/src/units/table.txt

A line has a definition (`=` for a base unit, `1` for a dimensionless one), a tab, names (any case), a tab, symbols (as written)."""

import sys
import xml.etree.ElementTree as Xml
from pathlib import Path

NOTICE = """\
# Names of units, from the database of UDUNITS-2. Its notice:
#
# Copyright 2008, 2009 University Corporation for Atmospheric Research
#
# Access and use of this software shall impose the following obligations and understandings on the user. The user is granted the
# right, without any fee or cost, to use, copy, modify, alter, enhance and distribute this software, and any derivative works
# thereof, and its supporting documentation for any purpose whatsoever, provided that this entire notice appears in all copies of
# the software, derivative works and supporting documentation. Further, UCAR requests that the user credit UCAR/Unidata in any
# publications that result from the use of this software or in any product that includes this software, although this is not an
# obligation. The names UCAR and/or Unidata, however, may not be used in any advertising or publicity to endorse or promote any
# products or commercial entity unless specific written permission is obtained from UCAR/Unidata. The user also understands that
# UCAR/Unidata is not obligated to provide the user with any support, consulting, training or assistance of any kind with regard
# to the use, operation and performance of this software nor to provide the user with any updates, revisions, new versions or
# "bug fixes."
#
# THIS SOFTWARE IS PROVIDED BY UCAR/UNIDATA "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
# IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL UCAR/UNIDATA BE
# LIABLE FOR ANY SPECIAL, INDIRECT OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS,
# WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE ACCESS, USE OR
# PERFORMANCE OF THIS SOFTWARE.
#
# Made by scripts/units_table.py. Definition, names (any case), symbols (as written); `prefix` lines first."""


def plural(name):
    if name.endswith("y"):
        return name + "s" if name[-2:-1] in "aeiou" else name[:-1] + "ies"
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return name + "es"
    return name + "s"


def names(element):
    singular = (element.findtext("singular") or "").strip()
    out = [singular] if singular else []
    given = [p.text.strip() for p in element.findall("plural") if p.text]
    out += given
    if singular and not given and element.find("noplural") is None:
        out.append(plural(singular))
    return out


def main(root):
    print(NOTICE)
    for p in Xml.parse(root / "udunits2-prefixes.xml").getroot().iter("prefix"):
        symbols = [s.text.strip() for s in p.findall("symbol")]
        print("\t".join(["prefix " + p.findtext("value").strip(), ",".join(n.text.strip() for n in p.findall("name")), ",".join(symbols)]))
    for part in ("base", "derived", "accepted", "common"):
        for unit in Xml.parse(root / f"udunits2-{part}.xml").getroot().iter("unit"):
            if unit.find("base") is not None:
                definition = "="
            elif unit.find("dimensionless") is not None:
                definition = "1"
            else:
                definition = " ".join(unit.findtext("def").split())
            aliases = unit.findall("aliases")
            found, symbols = [], []
            for holder in [unit, *aliases]:
                for name in holder.findall("name"):
                    found += names(name)
                symbols += [s.text.strip() for s in holder.findall("symbol")]
            print("\t".join([definition, ",".join(dict.fromkeys(found)), ",".join(dict.fromkeys(symbols))]))


main(Path(sys.argv[1]))
