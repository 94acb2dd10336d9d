"""Every command that takes an input, with every kind of input: the right answer, or an error that names the kind and what to do.

The list of commands comes from the tool. A command without a row fails the test, and so does a row without a command."""

import re

import kinds
from common import Case, nc3z
from kinds import AGGREGATIONS, ARCHIVES, BUNDLES, CATALOGUES, CLASSICS, KINDS, SOURCE, URLS
from servers import serve

# What a message says of a kind, where a command cannot use it: the kind, and what to do.
BUNDLE = r"bundle of \d files?.*nc3z list"
# A catalogue is an archive of a dataset about files: commands for archives take it, and it has no variable `a`.
CATALOGUE = r"catalogue of \d files?.*nc3z stats.*nc3z list.*nc3z find"
DIRECTORY = r"directory.*(nc3z list|--recursive|nc3z bundle)|several inputs need a directory as output"
HDF5 = r"HDF5 file \(netCDF-4\)"
TEXT = r"this is text"
NONE = r"No such file"
URL = r"is a URL.*(curl)"
CLASSIC_FILE = r"not an nc3z archive but a classic netCDF file.*nc3z archive"
MEMBER = r"members? of a bundle.*nc3z (bundle --extract|repair)"
VERSION = r"is a version.*name "
INPUT = r"`-` is standard input, which this command does not read"


def row(*kinds, **words):
    """A row: the kinds that work, and what the message says for each of the others."""
    cells = dict.fromkeys(BUNDLES, BUNDLE) | dict.fromkeys(CATALOGUES, CATALOGUE)
    cells |= {"directory": DIRECTORY, "hdf5": HDF5, "text": TEXT, "none": NONE}
    cells |= {kind.replace("_", "-"): text for kind, text in words.items()}
    return cells | dict.fromkeys(kinds)


def all_of(kinds, words):
    return dict.fromkeys((kind.replace("-", "_") for kind in kinds), words)


# Commands that read variables; that need an archive, wherever it is; and that need one on disk.
VARIABLES = row(*ARCHIVES, *CLASSICS, *AGGREGATIONS)
# Commands that name no variable.
WHOLE = VARIABLES | dict.fromkeys(CATALOGUES)
ARCHIVE = row(*ARCHIVES, *CATALOGUES, **all_of(CLASSICS + AGGREGATIONS, CLASSIC_FILE))
ON_DISK = row(
    "archive", "catalogue", classic=CLASSIC_FILE, aggregation=CLASSIC_FILE, version=VERSION, standard_input=INPUT,
    **all_of(["member", "member-version", "member-classic", "packed-member"], MEMBER), **all_of(URLS, URL))

# A bundle of nc3z is an archive, too.
OWN_ON_DISK = dict.fromkeys(["bundle", "packed-bundle"])
OWN_BUNDLES = dict.fromkeys([*OWN_ON_DISK, "url-bundle"])

# Command: its arguments for an input, and its row. Words behind the name of a command tell two rows apart.
ROWS = {
    "info": (["{}"], row(*ARCHIVES, *CLASSICS, *AGGREGATIONS, *BUNDLES, *CATALOGUES)),
    # A file that cannot be read has a line in the list, too.
    "list": (["{}"], row(*ARCHIVES, *CLASSICS, *AGGREGATIONS, *BUNDLES, *CATALOGUES, "directory", hdf5="", text="")),
    "read": (["{}", "a"], VARIABLES),
    "dump": (["-h", "{}"], WHOLE),
    "dump -v": (["-v", "a", "{}"], VARIABLES),
    "plot": (["{}", "a", "-o", "out.svg", "-f"], VARIABLES),
    "subset": (["{}", "-v", "a", "-o", "out.nc", "-f"], VARIABLES),
    "diff": (["{}", "{}"], WHOLE),
    "read --explain": (["--explain", "{}", "a"], VARIABLES | dict.fromkeys(CATALOGUES)),
    "info --layout": (["--layout", "{}"], WHOLE),
    "log": (["{}"], ARCHIVE | OWN_BUNDLES),
    "tag": (["{}"], ARCHIVE | OWN_BUNDLES),
    "tag NAME": (["{}", "good"], ON_DISK | OWN_ON_DISK),
    "verify": (["{}"], ARCHIVE | dict.fromkeys([*BUNDLES, "member-classic", "packed-member", "url-packed-member"])),
    "restore": (["{}", "-o", "out.nc", "-f"], ARCHIVE | dict.fromkeys(["member-classic", "packed-member", "url-packed-member"])),
    "restore -o -": (["{}", "-o", "-"], ARCHIVE | dict.fromkeys(["member-classic", "packed-member", "url-packed-member"])),
    "hash": (["{}"], WHOLE),
    "hash --root": (["--root", "{}"], WHOLE | dict.fromkeys(BUNDLES)),
    "cite": (["{}", "a", "-o", "out.csv", "-f"], VARIABLES | dict.fromkeys(AGGREGATIONS, "aggregation.*name the fragment")),
    "find": (["a", "{}"], VARIABLES | dict.fromkeys([*BUNDLES, *CATALOGUES, "directory"])),
    "refs": (["{}", "-o", "out.json", "-f"], ARCHIVE),
    "estimate": (["{}"], VARIABLES | dict.fromkeys([*ARCHIVES, *CATALOGUES], "is an archive already.*nc3z info")),
    "stats": (["{}"], VARIABLES | dict.fromkeys([*BUNDLES, *CATALOGUES, "directory"])),
    "catalog": (["{}", "-o", "out.catalog.nc3z", "-f"], VARIABLES | dict.fromkeys([*BUNDLES, "directory"])
                | dict.fromkeys(CATALOGUES, "contain no archive and no classic file")),
    "commit": (["{}", "c.nc"], ON_DISK | {"catalogue": "shares no variable with.*--allow-unrelated"}),
    "attr": (["{}", ":x=1"], ON_DISK),
    "set": (["{}", "a", "=3"], ON_DISK | {"catalogue": CATALOGUE}),
    "append": (["{}", "c.nc", "--dry-run"], ON_DISK | {"catalogue": "has no record dimension"}),
    "rename": (["{}", "--variable", "a,z"], ON_DISK | {"catalogue": CATALOGUE}),
    "revert": (["{}", "1"], ON_DISK | OWN_ON_DISK),
    "prune": (["--dry-run", "--in-place", "{}"], ON_DISK | OWN_ON_DISK),
    "parity add": (["{}"], ON_DISK | OWN_ON_DISK),
    "parity remove": (["{}"], ON_DISK | dict.fromkeys(["archive", "catalogue", *OWN_ON_DISK], "it has no parity")),
    "parity info": (["{}"], ON_DISK | OWN_ON_DISK),
    "recompress": (["{}", "-o", "out.nc3z", "-f"], ON_DISK | {"standard-input": "needs files on both sides.*nc3z archive"}),
    "repair": (["{}", "-o", "out.nc3z", "-f"],
               ON_DISK | OWN_ON_DISK | dict.fromkeys(["url-member", "url-packed-member"], MEMBER)),
}
# Commands whose inputs are something else, and what they take.
ELSEWHERE = {
    "archive": "classic files and trees of them: test_trees, test_messages",
    "aggregate": "many files: test_aggregate_rules, test_bundle_members",
    "bundle": "many files: test_collection, test_packed_bundles",
    "plan": "directories: test_campaign",
    "status": "a campaign: test_campaign",
    "retire": "a campaign: test_campaign",
    "reconcile": "a catalogue: test_campaign",
    "mount": "any kind: test_mount",
    "serve": "any kind: test_serve",
    "netcdf-plugin": "a program: test_netcdf_plugin",
    "filters": "no input",
    "completions": "no input",
    "man": "no input",
    "spec": "no input",
    "help": "no input",
}


class Matrix(Case):
    def run_here(self, *args, ok=False, **options):
        done = nc3z(*args, cwd=self.dir, **options)
        return self.ok(done) if ok else done

    def test_each_command_has_a_row(self):
        listed = set(re.findall(r"^  ([a-z]\S*)  ", nc3z("--help-all").stdout.decode(), re.M))
        parity = set(re.findall(r"^  ([a-z]\S*)  ", nc3z("parity", "--help-all").stdout.decode(), re.M)) - {"help"}
        commands = listed - {"parity"} | {f"parity {name}" for name in parity}
        self.assertGreater(len(commands), 30)
        rows = {name if name.startswith("parity ") else name.split()[0] for name in ROWS}
        self.assertEqual(commands, rows | set(ELSEWHERE), "a command needs a row in ROWS, or a reason in ELSEWHERE")

    def test_each_cell_is_the_answer_or_names_the_kind(self):
        files = kinds.write(self.dir)
        wrong = []
        with serve(files) as server:
            names = kinds.names(server)
            for command, (args, cells) in ROWS.items():
                self.assertEqual(sorted(cells), sorted(KINDS), command)
                words = command.split()[: 2 if command.startswith("parity ") else 1]
                for kind, expected in cells.items():
                    wrong += self.cell(words, [arg.format(names[kind]) for arg in args], kind, expected, files)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def cell(self, words, args, kind, expected, files):
        stdin = {"input": files["a.nc.nc3z"]} if kind == "standard-input" else {}
        done = self.run_here(*words, *args, **stdin)
        changed = [name for name, data in files.items() if (self.dir / name).read_bytes() != data]
        for name in changed:
            (self.dir / name).write_bytes(files[name])
        cell = f"{' '.join([*words, *args])} ({kind}): {done.returncode} {done.stderr.strip()[-300:]!r}"
        # A catalogue on disk is an archive, and can be edited as one.
        may_change = kind in ("archive", "catalogue", "bundle", "packed-bundle", "standard-input") and expected is None
        if "panicked" in done.stderr or (changed and not (may_change and done.returncode == 0)):
            return [f"{cell}, changed {changed}"]
        if expected is None:
            return [] if done.returncode == 0 and "error" not in done.stderr else [f"{cell}; expected an answer"]
        text = done.stderr if done.returncode in (1, 2) else ""
        said = re.search(expected, text, re.S) if expected else done.returncode == 1
        return [] if said else [f"{cell}; expected {expected!r}"]

    def test_a_packed_member_is_restored_to_standard_output_as_it_was(self):
        kinds.write(self.dir)
        for member in ("packed.bundle.nc3z!/a.nc", "plain.bundle.nc3z!/b.nc.nc3z@1", "plain.bundle.nc3z!/a.nc"):
            with self.subTest(member):
                self.assertEqual(self.run_here("restore", member, "-o", "-", ok=True).stdout, SOURCE.read_bytes())

    def test_a_search_in_a_bundle_names_its_members(self):
        kinds.write(self.dir)
        for bundle in ("plain.bundle.nc3z", "packed.bundle.nc3z", "other.tar"):
            out = self.run_here("find", "a", bundle, ok=True).stdout.decode()
            self.assertIn(f"{bundle}!/a.nc", out)
