//! The commands of the tool, and the texts of their help.

#[cfg(feature = "mount")]
use super::MountArgs;
#[cfg(feature = "plot")]
use super::PlotArgs;
#[cfg(feature = "serve")]
use super::ServeArgs;
use super::lazy::LazyArgs;
use super::{
    AggregateArgs, AppendArgs, ArchiveArgs, AttrArgs, BundleArgs, CatalogArgs, CiteArgs, CommitArgs,
    CompletionsArgs, DiffArgs, DumpArgs, EstimateArgs, FiltersArgs, FindArgs, HashArgs, InfoArgs, ListArgs,
    LogArgs, ManArgs, NetcdfPluginCommand, ParityCommand, PlanArgs, PruneArgs, ReadArgs, RecompressArgs,
    ReconcileArgs, RefsArgs, RenameArgs, RepairArgs, RestoreArgs, RetireArgs, RevertArgs, SetArgs, SpecArgs,
    StatsArgs, StatusArgs, SubsetArgs, TagArgs, VerifyArgs,
};
use clap::Subcommand;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Turn classic netCDF files into nc3z archives.
    #[command(after_help = "Examples:
  nc3z archive tas.nc                      writes tas.nc.nc3z in the same directory, keeps tas.nc
  nc3z archive tas.nc -o /archive/         into another directory
  nc3z archive --recursive data/ -o out/   all files in data/, with the same directories in out/
  nc3z archive -r data/ -o out/ --force    all of them again; without --force, a second run continues
  nc3z archive --tile time=12,lat=90,lon=180 tas.nc     chunks for variables with these dimensions
  nc3z archive --layout auto tas.nc        maps and time series both fast to read, if that costs little
  cat tas.nc | nc3z archive - -o tas.nc3z  from a pipe (copied to disk first)
  nc3z archive tas.nc --chain 'tas=[{\"id\":\"shuffle\"},{\"id\":\"zstd\",\"level\":9}]'
  nc3z archive tas.nc --chain '*=2|32015,9'         this chain in HDF5's notation, for all variables
  nc3z archive tas.nc --quantize tas=granularbr:3   LOSSY: three significant digits of tas

The archive is read back and compared with the source, byte by byte, before success is reported.")]
    Archive(LazyArgs<ArchiveArgs>),
    /// Restore the original file, byte for byte.
    #[command(visible_alias = "checkout")]
    #[command(after_help = "Examples:
  nc3z restore tas.nc.nc3z            writes tas.nc
  nc3z restore tas.nc.nc3z --version 2 -o old.nc
  nc3z checkout tas.nc.nc3z --version release -o released.nc
  nc3z restore tas.nc.nc3z -o - | md5sum
  nc3z restore https://example.org/tas.nc.nc3z       writes tas.nc here")]
    Restore(LazyArgs<RestoreArgs>),
    /// Write archives again with another preset or tiling, verified to have the same bytes.
    #[command(after_help = "Examples:
  nc3z recompress --preset max tas.nc.nc3z            in place
  nc3z recompress --preset max --if-smaller -r data/  a tree, if archives become smaller
  nc3z recompress --tile-size 256KiB tas.nc.nc3z -o quick.nc3z

The original is rebuilt from the new archive and compared with that of the old one, byte by byte, before anything is replaced. The \
new archive keeps mode and modification time, and its metadata name the old one (`nc3z info`). Chunked variables keep their chunks \
unless --layout, --tile or --profile is given. Other options of the old archive are not used again.")]
    Recompress(LazyArgs<RecompressArgs>),
    /// Compute digests of content and bytes, check them, or write a manifest of archives.
    #[command(after_help = "Examples:
  nc3z hash tas.nc tas.nc.nc3z        prints the same content digest twice
  nc3z hash --variables tas.nc > tas.digests
  nc3z hash --check tas.digests       compute them again and compare
  nc3z hash --check --either list     check archives with a list made before archiving
  nc3z hash --root tas.nc.nc3z        nc3z1:..., for publication; `cite` proves slices against it
  nc3z hash --tree tas.tree tas.nc    writes the file for verified reading (`read --root`)
  nc3z hash --manifest out/           writes out/SHA256SUMS: all archives below out/
  nc3z hash --manifest out/ --from-log 1.jsonl --from-log 2.jsonl   archives that two shards have written

The digests of a classic file are computed. Those of an archive are the recorded ones; --recompute decodes it and computes them, and \
--check always does. --recorded computes nothing. None of this checks an archive: `nc3z verify` does. The content digest covers \
dimensions, attributes, variables and values. It is the same for the original, for any archive of it and for the restored file. \
Exit codes of --check: 0 all match, 1 some do not, 3 corrupt archive. With --from-log, files that failed according to the logs, and \
missing archives, are listed; the exit code is then 1.")]
    Hash(LazyArgs<HashArgs>),
    /// Write a slice with a proof that it is a part of a dataset, check one, or write a record that cites it.
    #[command(after_help = "Examples:
  nc3z cite tas.nc.nc3z tas -d time,0,11 -o slice.nc              slice.nc and slice.nc.proof
  nc3z cite --check slice.nc --root nc3z1:...                     check it without tas.nc; slice.nc.proof is its proof
  nc3z cite --check slice.npy other.proof --root nc3z1:...
  nc3z cite tas.nc.nc3z tas -d time,0 -o slice.csv --format bibtex
  nc3z cite --format datacite --doi 10.5281/zenodo.1 tas.nc.nc3z  a record of the dataset

A slice has the attributes of the file, the named variables, and related variables. If a slice is scattered over an array, the \
proof also contains the values around each of the slice's values, 4 KiB each and at most 64 MiB in total; --widen includes these \
in the slice. docs/citing.md describes how to publish a root. For --check take the root from where the dataset is published, not \
from the proof. Exit codes of --check: 0 proven, 1 not proven.")]
    Cite(LazyArgs<CiteArgs>),
    /// Estimate from samples, in seconds, what archiving would save: sizes and times for each preset,
    /// compared with gzip and netCDF-4.
    #[command(after_help = "Examples:
  nc3z estimate tas.nc                       each preset, each variable
  nc3z estimate -r data/                     a tree, without the preset max
  nc3z estimate --preset default big/*.nc    many files, and their sum
  nc3z estimate --sample 256MiB --json tas.nc

Sizes are extrapolated from evenly spread samples, and the table shows their uncertainty; files of up to 1 MiB are archived in \
memory instead. Gzip and netCDF-4 are estimated from the same samples with the same deflate. For netCDF-4 these are the filters \
shuffle and deflate 1 or 5, without that format's own overhead. Times are measured while sampling.")]
    Estimate(LazyArgs<EstimateArgs>),
    /// Add an edited file to an archive as a new version; every version can be restored byte for byte.
    #[command(after_help = "Examples:
  nc3z commit tas.nc.nc3z tas.nc -m 'units corrected'
  nc3z commit tas.nc.nc3z tas.nc --author 'A. Nobody'
  nc3z commit --dry-run tas.nc.nc3z tas.nc     only report what would be added

Unchanged data are not stored again, even if they moved in the file. The new version is rebuilt and compared before it becomes \
valid; a crash leaves the old state or the new one. The user's name and the date are stored, unless --no-author is given. A file that has none of the \
archive's variables (by name, type and lengths, or by values) is refused without --allow-unrelated.
Older versions: `nc3z log`, `nc3z restore --version`, and NAME@VERSION in every command that reads.")]
    Commit(LazyArgs<CommitArgs>),
    /// Set, append to or delete attributes, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z attr tas.nc.nc3z tas:units=K :title='Monthly means' -m 'units corrected'
  nc3z attr tas.nc.nc3z tas:_FillValue=-999 tas:valid_range=0,400 'tas:code=\"167\"'
  nc3z attr tas.nc.nc3z -a units,tas,o,c,K -a history,global,d,, -a comment,,c,c,none
  nc3z attr tas.nc.nc3z --delete tas:comment --delete :history
  nc3z attr tas.nc.nc3z 'a\\:b:units=m'               an attribute of the variable `a:b`

A value is text, unless it consists only of numbers. Numbers without a suffix get the type of the existing attribute; for \
_FillValue, missing_value and valid_* that of the variable; otherwise int or double. Earlier versions are unchanged.")]
    Attr(LazyArgs<AttrArgs>),
    /// Overwrite values of a variable, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z set tas.nc.nc3z tas -d time,5 -d lat,45 -d lon,90 =1013.25    one value
  nc3z set tas.nc.nc3z tas -d time,2 --from fixed.nc                   a map from another file
  nc3z set tas.nc.nc3z tas -d lat,-90.0,-60.0 =_                     the fill value
  nc3z set tas.nc.nc3z tas -d time,0 --plan =0                       only show what would be done

Selections are as in `nc3z read`. Tiles that are overwritten completely are not read. Changes that exceed half of --memory are \
kept in a temporary file.")]
    Set(LazyArgs<SetArgs>),
    /// Append the records of other files, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z append tas.nc.nc3z 2026-11.nc -m November
  nc3z append tas.nc.nc3z 2026-11.nc 2026-12.nc --quick
  nc3z append tas.nc.nc3z 2026-11.nc --replace-overlap   replace a month that was computed again

Each file must have every record variable of the archive, with the same type and lengths. Variables without records must be equal, \
and also attributes that give numbers their meaning (units, scale_factor, _FillValue, ...), unless an option allows differences.
The record coordinate (the variable with the name of the record dimension, otherwise times stored as text such as WRF's Times, \
otherwise the first time variable) must continue that of the archive. Records that the archive already has with the same values \
change nothing. Without a record coordinate, records are appended with a warning.")]
    Append(LazyArgs<AppendArgs>),
    /// Rename dimensions, variables and attributes, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z rename tas.nc.nc3z -v t2m,tas -d x,lon
  nc3z rename tas.nc.nc3z -a tas@long_name,standard_name -a global@Conv,Conventions
  nc3z rename tas.nc.nc3z -v 'T\\,P,tp'        the variable `T,P`")]
    Rename(LazyArgs<RenameArgs>),
    /// Drop versions: write the versions that are kept to a new archive.
    #[command(after_help = "Examples:
  nc3z prune tas.nc.nc3z -o small.nc3z --keep 1            the original, tagged versions, the newest
  nc3z prune tas.nc.nc3z --in-place --dry-run              only report what would be dropped
  nc3z prune tas.nc.nc3z --in-place --drop-tagged          only the newest

Versions keep their numbers. Every version is rebuilt from the new archive and compared before the new archive gets its name.")]
    Prune(LazyArgs<PruneArgs>),
    /// Add a version that repeats an older one.
    #[command(after_help = "Examples:
  nc3z revert tas.nc.nc3z 3 -m 'the map was right'")]
    Revert(LazyArgs<RevertArgs>),
    /// List the versions of an archive, newest first.
    #[command(after_help = "Examples:
  nc3z log tas.nc.nc3z
  nc3z log --oneline tas.nc.nc3z
  nc3z log -n 1 --json tas.nc.nc3z@release")]
    Log(LazyArgs<LogArgs>),
    /// Compare two files, or two versions: dimensions, attributes, types, values.
    #[command(after_help = "Examples:
  nc3z diff tas.nc.nc3z@1 tas.nc.nc3z      changes since the file was archived
  nc3z diff tas.nc.nc3z@3 @4               one version and the next
  nc3z diff --rel 1e-6 a.nc b.nc3z         a classic file and an archive
  nc3z diff -v tas --first 10 a.nc b.nc

Variables, dimensions and attributes are matched by name; variables that were renamed or moved are recognized. Every bit of every \
value counts, unless --abs or --rel gives a tolerance.
Exit codes: 0 equal, 1 different, 2 not compared, 3 corrupt archive.")]
    Diff(LazyArgs<DiffArgs>),
    /// Give a version a name, or list the names.
    #[command(after_help = "Examples:
  nc3z tag tas.nc.nc3z release             the newest version
  nc3z tag tas.nc.nc3z first --version 1
  nc3z tag tas.nc.nc3z                     all tags")]
    Tag(LazyArgs<TagArgs>),
    /// Show what a file is: dimensions, variables, sizes, ratio, chains, digests, the place of each byte.
    #[command(after_help = "Examples:
  nc3z info tas.nc.nc3z               dimensions, variables, and the stored size of each
  nc3z info --versions tas.nc.nc3z    also its versions
  nc3z info --layout tas.nc.nc3z      where each byte is stored: sections, tiles, the original
  nc3z info --json a.nc b.nc.nc3z     several files, for programs")]
    Info(LazyArgs<InfoArgs>),
    /// Print a variable, or a part of it, or the cost of reading it.
    #[command(after_help = "Examples:
  nc3z read tas.nc3z tas -d time,0 -d lat,30.0,60.0       the first map, between 30 and 60 degrees
  nc3z read tas.nc3z tas -d lat,52.5 -d lon,13.4 --format csv    the series of the nearest point
  nc3z read tas.nc3z tas -d lon,-10.0,10.0                across the meridian: longitudes wrap around
  nc3z read tas.nc3z tas -d time,2000-01,2000-03          three months, in the coordinate's calendar
  nc3z read tas.nc3z tas --box -10,30,35,60 --decode      a region: west, east, south, north; unpacked, missing values as _
  nc3z read tas.nc3z tas -d time,-12, -d lat,,,-1         the last twelve, latitudes backwards
  nc3z read tas.nc tas --start 0,0,0 --count 1,90,180 --format npy -o map.npy
  nc3z read --explain tas.nc3z tas -d lat,52.5 -d lon,13.4       the cost of a time series; no values are read
  nc3z read s3://bucket/tas.nc.nc3z tas -d time,0 --storage-option region=eu-west-1

With -d, integers are indices from 0 (negative: from the end), and numbers with a decimal point or an exponent are values of the \
coordinate variable; both ends are included. A single value selects the nearest coordinate. An index or value outside the range is \
an error.

FILE may be the URL (https, s3, gs, az) of an archive or of a classic file: only the needed bytes are fetched.
NC3Z_CACHE=SIZE sets the memory for decoded tiles (0: none) [default: 1/8 of memory, at most 1GiB].")]
    Read(LazyArgs<ReadArgs>),
    /// Check archives: every byte against its checksum; with --deep also the rebuilt original.
    #[command(visible_alias = "test")]
    #[command(after_help = "Examples:
  nc3z verify tas.nc.nc3z              every stored byte, at the speed of the disk
  nc3z verify --deep tas.nc.nc3z       also decodes everything and checks the SHA-256
  nc3z verify --recursive /archive/    all archives of a tree, in parallel
  nc3z verify --deep tas.nc.nc3z@3     all bytes, and version 3 rebuilt
  nc3z verify --all-versions tas.nc.nc3z
  nc3z verify s3://bucket/tas.nc.nc3z  fetches the whole archive

Damage is reported with its offset in the archive, variable, hyperslab and bytes of the original; exit code 3.")]
    Verify(LazyArgs<VerifyArgs>),
    /// Save the intact parts of a damaged archive.
    #[command(after_help = "Examples:
  nc3z repair bad.nc3z -o good.nc3z
  nc3z repair --in-place bad.nc3z      only with parity
  nc3z repair bad.bundle.nc3z -o good.bundle.nc3z

If the archive has enough parity (`nc3z parity`), it is restored byte for byte. Otherwise a new archive is written. If the newest \
version is intact, the new archive has all intact versions. If not, it has the intact tiles of the newest version. Lost tiles are \
listed with the variables' coordinates, and marked as lost in the new archive; `nc3z restore --fill-lost` replaces them by fill \
values. Exit code 0 if nothing was lost, 3 if something was lost, 1 if nothing could be saved.")]
    Repair(LazyArgs<RepairArgs>),
    /// Print a file as CDL, as ncdump prints the original.
    #[command(disable_help_flag = true)]
    #[command(after_help = "Examples:
  nc3z dump -h tas.nc.nc3z             dimensions, variables, attributes
  nc3z dump -c tas.nc.nc3z             and the data of coordinate variables
  nc3z dump -v tas,time tas.nc.nc3z    and the data of two variables
  nc3z dump -p 9,17 tas.nc             enough digits to restore every bit
  nc3z dump tas.nc.nc3z | ncgen -o tas.nc

The output is that of ncdump 4.9.0 with the same options, byte for byte; docs/dump.md lists the exceptions.")]
    Dump(LazyArgs<DumpArgs>),
    /// Write variables, or a part of them, to a new classic file.
    #[command(after_help = "Examples:
  nc3z subset tas.nc.nc3z tas -d time,0,11 -o year.nc              the first twelve records
  nc3z subset tas.nc -v tas -d lat,35.0,70.0 -d lon,350.0,40.0 -o europe.nc
  nc3z subset tas.nc -d lat,,,2 -d lon,,,2 -o coarse.nc            all variables, every second point
  nc3z subset big.nc3z -v tas,pr -C -o bare.nc                     without coordinates

Coordinates, bounds, grid mappings, cell measures and ancillary variables are included (not with -C). The record dimension is \
kept. Attributes are unchanged, except for a new line in `history`. With -d, integers are indices from 0 and numbers with a \
decimal point are coordinate values; both ends are included.")]
    Subset(LazyArgs<SubsetArgs>),
    /// Present many files as one: the new file describes them, and their data stay in the files.
    #[command(after_help = "Examples:
  nc3z aggregate data/ -o all.nc                  all archives and classic files below data/
  nc3z aggregate 2026-*.nc.nc3z -o 2026.nc        files by name, in any order
  nc3z aggregate --check data/ -o all.nc          check whether they can be joined; write nothing
  nc3z aggregate --append -o all.nc new.nc        one more month, without reading the others again
  nc3z aggregate --skip-misfits -v tas data/ -o tas.nc    one variable; omits files that do not fit
  nc3z aggregate --new-dim member run*.nc -o ensemble.nc  runs along a dimension that no file has

The result is read like any other file: `read`, `dump`, `info`, `subset`. The coordinates of a file give its position, \
along any number of dimensions. Each file keeps its packing and units; values are converted when they are read. Files that do not \
fit are refused, and both are named: other calendars, units, cell methods, overlaps, a missing file.")]
    Aggregate(LazyArgs<AggregateArgs>),
    /// Plan a campaign: units of work for many runs, and a table of all files.
    #[command(after_help = "Examples:
  nc3z plan data/ -o camp/ --unit 200GB               units of at most 200 GB, in the order of the directories
  nc3z archive --unit camp/units/00001.list -o out/   one run, as often as needed
  nc3z plan data/ -o camp/                            what is new, changed or gone since then
  nc3z status camp/                                   what is done, and what remains

Exit codes: 0 planned, or unchanged since; 1 the trees differ from the plan, or a directory could not be read.")]
    Plan(LazyArgs<PlanArgs>),
    /// Show what a campaign has done, what failed and why, and what remains.
    #[command(after_help = "Examples:
  nc3z status camp/
  nc3z status camp/ --html status.html        a page with a chart
  nc3z status camp/ --csv > files.csv         a row for each file, for a database
  nc3z status camp/ --prometheus > /var/lib/node_exporter/nc3z.prom

Only the plan and the logs of its runs are read. Exit codes: 0 each file of the plan has its archive; 1 something remains; 4 only \
files remain that will never be archived as they are.")]
    Status(LazyArgs<StatusArgs>),
    /// Give up originals in two steps: move them into a trash after archive and original were read again, delete them later.
    #[command(after_help = "Examples:
  nc3z retire data/ out/ --trash .trash/            move the originals of the archives below out/
  nc3z retire --purge --after 30d --trash .trash/   read all once more, and name what would be deleted
  nc3z retire --purge --after 30d --yes --trash .trash/
  nc3z retire --undo --trash .trash/                put everything back

A file is moved by one rename on its file system: at any moment it is in one of the two places. trash/retired.jsonl lists each step.")]
    Retire(LazyArgs<RetireArgs>),
    /// Compare a site's catalogue with archives, by the lengths and digests that the archives record.
    #[command(after_help = "Examples:
  nc3z reconcile catalogue.csv out/                                  columns path, size, checksum
  nc3z reconcile esgf.csv out/ --preset esgf --by-name
  nc3z reconcile list.csv out/ --columns file,bytes,md5 --root /archive/data --write new.csv

No values are read. Exit codes: 0 the same files; 1 some are missing, extra or different; 3 an archive is corrupt.")]
    Reconcile(LazyArgs<ReconcileArgs>),
    /// Put many files into one, in which each can be read without unpacking, or extract them.
    #[command(after_help = "Examples:
  nc3z bundle data/ -o set.bundle.nc3z
  nc3z bundle data/ -o set.bundle.nc3z --pack     files share what repeats across them
  nc3z bundle 2026-02/ -o set.bundle.nc3z --append
  nc3z read 'set.bundle.nc3z!/2026-01.nc.nc3z' tas -d time,0
  nc3z bundle --extract set.bundle.nc3z -o out/   an archive of each member; `restore -r` writes the originals
  nc3z list set.bundle.nc3z

A bundle is an archive with versions: `log`, `verify`, `repair`, `parity` and `prune` take it, and set.bundle.nc3z@1 is its first version.
--zip writes a plain ZIP instead. Members of any uncompressed ZIP, and of a tar, are read by names of the same form.")]
    Bundle(LazyArgs<BundleArgs>),
    /// List the files of a directory, a bundle or an aggregation: sizes, variables, dimensions, ranges of coordinates; or
    /// write a page about a directory.
    #[command(after_help = "Examples:
  nc3z list data/
  nc3z list 'data/**/2026-*.nc'
  nc3z list set.bundle.nc3z
  nc3z list all.nc            an aggregation, and the state of each of its fragments
  nc3z list --json data/
  nc3z list --html page.html /archive    a map of sizes, the ratios, the largest variables, the unreadable files

Only the first and the last value of each coordinate variable are read, and no other data. Exit codes: 0 all files were read, 1 some \
could not be read, 3 an archive is corrupt; the page of --html is written in any case.")]
    List(LazyArgs<ListArgs>),
    /// Show the originals of archives as files, which any program can read.
    #[cfg(feature = "mount")]
    #[command(after_help = "Examples:
  nc3z mount archive/ /mnt/data           archive/2026/tas.nc.nc3z is /mnt/data/2026/tas.nc
  nc3z mount --daemon archive/ /mnt/data  returns when the mount is ready
  nc3z mount set.bundle.nc3z /mnt/data    the members of a bundle
  nc3z mount tas.nc.nc3z tas.nc           one archive onto one file, which must exist
  ls /mnt/data/.versions/tas.nc           its versions and tags
  fusermount3 -u /mnt/data                unmounts it; so do ^C, SIGTERM and SIGHUP

The mount is read-only. Each original has its former size, mode and time, and the disk usage of its archive (`du`). Other files \
are shown unchanged. Reading damaged bytes is an error, which is also logged: to standard error, to the system log with --daemon, \
or to the file of --log. For fstab, systemd and archives that change meanwhile see docs/mount.md.")]
    Mount(LazyArgs<MountArgs>),
    /// Serve the originals of archives by HTTP: their bytes, their variables by DAP2 and Zarr, and a page to
    /// view them.
    #[cfg(feature = "serve")]
    #[command(after_help = super::serve::EXAMPLES)]
    Serve(LazyArgs<ServeArgs>),
    /// Install the netCDF plug-in, with which programs open archives like any netCDF file, or run a program with it.
    #[command(subcommand)]
    #[command(after_help = "Examples:
  nc3z netcdf-plugin install
  nc3z netcdf-plugin status
  nc3z netcdf-plugin remove
  nc3z netcdf-plugin run -- ncdump -h tas.nc.nc3z

Then netCDF4-python, xarray and all other programs with netCDF-C 4.10.1 or later open archives by name. For older programs use \
`nc3z netcdf-plugin run`. For details see docs/netcdf-plugin.md.")]
    NetcdfPlugin(LazyArgs<NetcdfPluginCommand>),
    /// Draw a variable: a map with a colour bar, a series or a profile, as PNG, SVG or PDF.
    #[cfg(feature = "plot")]
    #[command(after_help = "Examples:
  nc3z plot tas.nc.nc3z tas -d time,0 -o map.png          a map of the first time
  nc3z plot tas.nc.nc3z tas -d lat,52.5 -d lon,13.4 -o series.svg
  nc3z plot tas.nc tas -d time,0 -d lat,35.0,70.0 -d lon,350.0,40.0 --range 270,300 -o europe.png
  nc3z plot anomalies.nc anomaly -d time,0 --diverging --size 1200x700 -o anomalies.png
  nc3z plot argo.nc TEMP -d N_PROF,0 --y PRES_ADJUSTED -o profile.pdf

Axes are in the units of the coordinates, packed values are unpacked, and missing values are left blank. With more than two \
dimensions, the last two make the map; of the others the first index is used if none is given.")]
    Plot(LazyArgs<PlotArgs>),
    /// Find variables, dimensions and attributes across archives and classic files, by name or by value.
    #[command(after_help = "Examples:
  nc3z find temperature data/             in names, standard names, titles and other texts
  nc3z find 'tas*' data/                  names and texts that begin with tas
  nc3z find standard_name=air_temperature archive/ *.nc
  nc3z find units='*hPa*' -l data/        only the files
  nc3z find --json cell_methods='*max*' data/
  nc3z find --where 'tas > 310' data.catalog.nc3z      by values, from a catalogue (nc3z catalog)
  nc3z find cell_methods='*max*' --where 'tas > 310' data/     from the files themselves: all values are read

Only headers are read, unless --where, --box or --time is given. Exit codes: 0 found or unknown, 1 nothing found or a file that cannot be read, 3 corrupt archive.")]
    Find(LazyArgs<FindArgs>),
    /// Write a catalogue of many files: a small file with dimensions, attributes, and for each tile of each variable the
    /// number of values, minimum, maximum, sum and sum of squares.
    #[command(after_help = "Examples:
  nc3z catalog data/ -o data.catalog.nc3z
  nc3z catalog set.bundle.nc3z -o set.catalog.nc3z
  nc3z stats data.catalog.nc3z
  nc3z find --where 'tas > 310' data.catalog.nc3z

Missing values are left out, and packed ones unpacked. The files are not needed afterwards.")]
    Catalog(LazyArgs<CatalogArgs>),
    /// Show count, minimum, maximum, mean and standard deviation of variables, from a catalogue or from the data.
    #[command(after_help = "Examples:
  nc3z stats data.catalog.nc3z                from a catalogue (nc3z catalog): no file is opened
  nc3z stats tas.nc.nc3z                       from the values
  nc3z stats data.catalog.nc3z --variable tas --each
  nc3z stats data.catalog.nc3z --variable tas --along time
  nc3z stats data.catalog.nc3z --json                  also the bound of the error of each mean

For smaller parts than --along gives, values must be read: `nc3z read --explain data.catalog.nc3z tas -d time,5` reports which bytes.")]
    Stats(LazyArgs<StatsArgs>),
    /// Write references into an archive, with which Zarr's readers read it directly.
    #[command(after_help = "Examples:
  nc3z archive --profile zarr tas.nc
  nc3z refs tas.nc.nc3z -o tas.json
  nc3z refs tas.nc.nc3z --url s3://bucket/tas.nc.nc3z -o tas.json
  nc3z refs https://example.org/tas.nc.nc3z > tas.json
  nc3z refs 'set.bundle.nc3z!/tas.nc.nc3z' -o tas.json            offsets in the bundle set.bundle.nc3z

In Python: xarray.open_dataset('reference://', engine='zarr', consolidated=False, backend_kwargs={'storage_options': {'fo': \
'tas.json'}}). Each array needs a single chain, of codecs that NumCodecs has, and chunks of one shape; an error names the variable \
that does not fit. Readers do not check nc3z's checksums, and do not notice changes: the references are valid for the present \
archive. Short archives are copied into the references.")]
    Refs(LazyArgs<RefsArgs>),
    /// Add redundancy to archives, or remove it.
    #[command(subcommand)]
    #[command(after_help = "Examples:
  nc3z parity add tas.nc.nc3z         repairs the loss of 5% of the archive
  nc3z parity info tas.nc.nc3z        what the parity covers and can repair
  nc3z repair --in-place tas.nc.nc3z  repairs the archive with its parity")]
    Parity(LazyArgs<ParityCommand>),
    /// List the filters and codecs for chains: built-in ones and those of plug-ins.
    #[command(after_help = "Examples:
  nc3z filters                              built-in ones: HDF5's numbers and NumCodecs' ids
  nc3z filters --plugins                    also the plug-ins in HDF5_PLUGIN_PATH
  nc3z filters --plugin-path /opt/plugin    also the plug-ins in a directory
  nc3z filters --plugins --translate '2,4|32015,9'    a chain in the other notation
  nc3z archive --plugins --chain '*=32013,3,0,0,0,0,0' tas.nc    a filter by its number and parameters

Plug-ins are programs of third parties. They are loaded only on request, and never because of an archive's content.")]
    Filters(LazyArgs<FiltersArgs>),
    /// Print a script that completes commands, options and file names in a shell.
    #[command(after_help = "Examples:
  nc3z completions bash > /etc/bash_completion.d/nc3z
  nc3z completions zsh > ~/.zfunc/_nc3z                    with fpath+=~/.zfunc
  nc3z completions fish > ~/.config/fish/completions/nc3z.fish")]
    Completions(LazyArgs<CompletionsArgs>),
    /// Write manual pages.
    #[command(after_help = "Examples:
  nc3z man -o /usr/local/share/man/man1    nc3z.1, nc3z-archive.1, ...
  nc3z man | man -l -                      shows the tool's own page")]
    Man(LazyArgs<ManArgs>),
    /// Print or write the specification of the format: text, dictionaries, vectors and a reference decoder.
    #[command(after_help = "Examples:
  nc3z spec                        the contents: chapters, version, how to cite
  nc3z spec archive.md | less      one chapter
  nc3z spec -o nc3z-specification  all files into a directory, to keep with archives
  nc3z spec --document | pandoc -o nc3z.pdf

These files suffice to write a decoder. `bundle`, `aggregate` and `archive --manifest bagit` add them to a collection with --with-spec.")]
    Spec(LazyArgs<SpecArgs>),
    /// Calls plug-ins for another nc3z process, which starts this one.
    #[command(hide = true)]
    FilterWorker,
}

impl Command {
    /// Returns whether the command may end within a millisecond or two. It prepares for longer work when it begins that.
    pub(crate) fn may_be_short(&self) -> bool {
        match self {
            Command::Restore(_) | Command::Verify(_) => true,
            // Opening waits for servers and pipes.
            Command::Read(args) => args.file.is_file(),
            _ => false,
        }
    }

    /// Returns whether the command ends when its work is done. The others serve, or run a program that has the terminal.
    pub(crate) fn has_end(&self) -> bool {
        match self {
            #[cfg(feature = "mount")]
            Command::Mount(_) => false,
            #[cfg(feature = "serve")]
            Command::Serve(_) => false,
            Command::NetcdfPlugin(_) | Command::FilterWorker => false,
            _ => true,
        }
    }
}
