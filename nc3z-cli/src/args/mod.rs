//! The command line: clap types only, no behaviour. One file a command.

mod aggregate;
mod archive;
mod cite;
mod collection;
mod collection_report;
mod diff;
mod dump;
mod edit;
mod encode;
mod estimate;
mod explain;
mod filters;
mod find;
mod hash;
mod later;
mod layout;
mod manifest;
#[cfg(feature = "mount")]
mod mount;
mod open;
mod parity;
#[cfg(feature = "plot")]
mod plot;
mod plugin;
mod read;
mod recompress;
mod refs;
mod remote;
mod repair;
mod report;
mod restore;
mod selection;
#[cfg(feature = "serve")]
mod serve;
mod shell;
mod spec;
mod subset;
mod tell;
mod tree;
mod verify;
mod versions;

pub(crate) use aggregate::{AggregateArgs, ConventionArg, FragmentArgs, IdentityArg};
pub(crate) use archive::{ArchiveArgs, DigestArg, EdgeArg, ManifestArg, PresetArg};
pub(crate) use cite::{CheckArgs, CiteArgs, RecordArg, RootArgs};
pub(crate) use collection::{BundleArgs, ListArgs};
pub(crate) use collection_report::CollectionReportArgs;
pub(crate) use diff::DiffArgs;
pub(crate) use dump::{DumpArgs, Language};
pub(crate) use edit::{AppendArgs, AttArgs, EditArgs, GcArgs, RenameArgs, SetArgs};
pub(crate) use encode::{EncodeArgs, ProfileArg};
pub(crate) use estimate::EstimateArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use filters::FiltersArgs;
pub(crate) use find::FindArgs;
pub(crate) use hash::{HashArgs, OnlyArg};
pub(crate) use manifest::ManifestArgs;
#[cfg(feature = "mount")]
pub(crate) use mount::MountArgs;
pub(crate) use open::OpenArgs;
pub(crate) use parity::{ParityAddArgs, ParityCommand, ParityFiles, ParityInfoArgs, ParityRemoveArgs};
#[cfg(feature = "plot")]
pub(crate) use plot::PlotArgs;
pub(crate) use plugin::{PluginCommand, PluginInstallArgs, PluginStatusArgs, RunCommandArgs};
pub(crate) use read::{FormatArg, ReadArgs};
pub(crate) use recompress::RecompressArgs;
pub(crate) use refs::{RefsArgs, RefsFormat};
pub(crate) use remote::RemoteArgs;
pub(crate) use repair::RepairArgs;
pub(crate) use report::{InfoArgs, NotationArg, ReportArgs};
pub(crate) use restore::RestoreArgs;
pub(crate) use selection::SelectionArgs;
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
pub(crate) use shell::{CompletionsArgs, ManArgs};
pub(crate) use spec::SpecArgs;
pub(crate) use subset::SubsetArgs;
pub(crate) use tell::TellArgs;
pub(crate) use tree::{OthersArg, OthersOfTreeArg, RunArgs, Shard, SkipArg};
pub(crate) use verify::VerifyArgs;
pub(crate) use versions::{CommitArgs, EffortArgs, LogArgs, NoteArgs, RevertArgs, TagArgs};

use clap::{Arg, CommandFactory, Parser, Subcommand, ValueEnum};
use later::Later;
use std::ffi::OsString;

/// Exact, small, randomly readable archives of classic netCDF files.
#[derive(Debug, Parser)]
#[command(name = "nc3z", version, max_term_width = 100)]
#[command(after_help = "Examples:
  nc3z archive tas.nc                 tas.nc -> tas.nc.nc3z, proven before it is reported
  nc3z restore tas.nc.nc3z -o out.nc  the very same bytes
  nc3z info tas.nc.nc3z               what is in it, and what each variable costs
  nc3z archive --recursive data/      a whole tree, file by file

As with gzip, `nc3z -t` is `nc3z verify`, `nc3z -d` is `nc3z restore`, and `nc3z -l` is `nc3z list`.

Exit codes: 0 done, 1 failed, 2 usage, 3 corrupt archive, 130 stopped by SIGINT, SIGTERM or SIGHUP; \
nothing half-done is left then. A closed pipe behind standard output or standard error changes none of them.")]
pub(crate) struct Cli {
    /// When to colour messages.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Load HDF5 filter plug-ins from the directories of HDF5_PLUGIN_PATH; they are called in a process of their own.
    #[arg(long, global = true)]
    pub(crate) plugins: bool,
    /// The same from these directories, which are searched first.
    #[arg(long, global = true, value_name = "DIR:...")]
    pub(crate) plugin_path: Option<OsString>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where the options of all commands are described: once, not in the help of each.
const SHARED_OPTIONS: &str =
    "Options of all commands (--color, --plugins, --plugin-path) are described by `nc3z --help`.";

/// The command line. Commands know the options that all have, and leave them out of their own help.
pub(crate) fn command() -> clap::Command {
    with_shared(Cli::command(), |_| true)
}

/// The command line for these words. The help of the other commands is not prepared: that would take a quarter of the instructions by which a command starts.
pub(crate) fn command_for(words: &[OsString]) -> clap::Command {
    let is_there = |name: &str| words.iter().skip(1).any(|word| word == name);
    with_shared(Cli::command(), |command| {
        is_there(command.get_name()) || command.get_all_aliases().any(is_there)
    })
}

fn with_shared(command: clap::Command, is_wanted: impl Fn(&clap::Command) -> bool) -> clap::Command {
    let shared: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    command.mut_subcommands(|command| {
        if !is_wanted(&command) {
            return command;
        }
        let help = command.get_after_help().map_or_else(String::new, |help| format!("{help}\n\n"));
        let command = command.after_help(format!("{help}{SHARED_OPTIONS}"));
        command.args(shared.iter().map(|arg| arg.clone().hide(true)))
    })
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Turn classic netCDF files into nc3z archives.
    #[command(after_help = "Examples:
  nc3z archive tas.nc                      writes tas.nc.nc3z beside it, keeps tas.nc
  nc3z archive tas.nc -o /archive/         into another directory
  nc3z archive --recursive data/ -o out/   the tree under data/, kept as it is
  nc3z archive -r data/ -o out/ --skip-existing    go on where an earlier run was stopped
  nc3z archive --chunk time=12,lat=90,lon=180 tas.nc     chunks for variables with these dimensions
  nc3z archive --layout auto tas.nc        maps and time series both cheap to read, where that costs little
  cat tas.nc | nc3z archive - -o tas.nc3z  from a pipe (spooled to disk)
  nc3z archive tas.nc --chain 'tas=[{\"id\":\"shuffle\"},{\"id\":\"zstd\",\"level\":9}]'
  nc3z archive tas.nc --chain '*=2|32015,9'         the same in HDF5's notation, for all variables
  nc3z archive tas.nc --quantize tas=granularbr:3   LOSSY: three significant digits of tas

The archive is read back and compared with the source, byte by byte, before success is reported.")]
    Archive(Later<ArchiveArgs>),
    /// Give the original bytes back.
    #[command(visible_alias = "checkout")]
    #[command(after_help = "Examples:
  nc3z restore tas.nc.nc3z            writes tas.nc
  nc3z restore tas.nc.nc3z --version 2 -o old.nc
  nc3z checkout tas.nc.nc3z --version release -o released.nc
  nc3z restore tas.nc.nc3z -o - | md5sum
  nc3z restore https://example.org/tas.nc.nc3z       writes tas.nc here")]
    Restore(Later<RestoreArgs>),
    /// Write archives anew with another preset or other tiles, proven to hold the same bytes.
    #[command(after_help = "Examples:
  nc3z recompress --preset max tas.nc.nc3z            in place
  nc3z recompress --preset max --if-smaller -r data/  a tree, where it pays
  nc3z recompress --block-size 256KiB tas.nc.nc3z -o quick.nc3z

The new archive is rebuilt and compared with what the old one holds, byte by byte, before it replaces anything. It keeps mode and \
modification time, and notes in its metadata what it came from (`nc3z info`). Variables in chunks stay in them \
unless --layout, --chunk or --profile says otherwise; other options that are not given are not taken over from the old archive.")]
    Recompress(Later<RecompressArgs>),
    /// Compute digests of content and bytes, or check them.
    #[command(after_help = "Examples:
  nc3z hash tas.nc tas.nc.nc3z        the same content digest twice
  nc3z hash --variables tas.nc > tas.digests
  nc3z hash --check tas.digests       compute them again and compare
  nc3z hash --check --either list     a list made before archiving checks the archives
  nc3z hash --root tas.nc.nc3z        nc3z1:..., for publication; `cite` proves slices against it
  nc3z hash --tree tas.tree tas.nc    and the file by which others read it verified (`read --root`)

Digests are computed from the data, archives are decoded for it; --recorded shows what they have on record. \
The content digest is of dimensions, attributes, variables and values: the same for the original, for any \
archive of it and for the restored file. Exit codes of --check: 0 all right, 1 not, 3 corrupt archive.")]
    Hash(Later<HashArgs>),
    /// Write a slice with the proof that it is a part of a dataset, or a record that cites one.
    #[command(after_help = "Examples:
  nc3z cite tas.nc.nc3z tas -d time,0,11 -o slice.nc              slice.nc and slice.nc.proof
  nc3z check slice.nc --root nc3z1:...                            by anybody, without tas.nc
  nc3z cite tas.nc.nc3z tas -d time,0 -o slice.csv --format bibtex
  nc3z cite --format datacite --doi 10.5281/zenodo.1 tas.nc.nc3z  of the dataset

A slice has the attributes of the file, the variables named, and what belongs to them. Of a slice that is scattered over an array, the \
proof has the values around each of its own, 4 KiB at a time and 64 MiB at most; --widen takes these into the slice. \
docs/citing.md says how to publish a root.")]
    Cite(Later<CiteArgs>),
    /// Check that a slice is a part of the dataset with a root.
    #[command(after_help = "Examples:
  nc3z check slice.nc --root nc3z1:...                 with slice.nc.proof
  nc3z check slice.npy other.proof --root nc3z1:...

Nothing but the two files is read. Take the root from where the dataset is published, not from the proof. \
Exit codes: 0 proven, 1 not.")]
    Check(Later<CheckArgs>),
    /// Tell, in seconds and from samples, what archiving would save: sizes and times for each preset, beside gzip and netCDF-4.
    #[command(after_help = "Examples:
  nc3z estimate tas.nc                       each preset, each variable
  nc3z estimate --preset default big/*.nc    many files, and their sum
  nc3z estimate --sample 256MiB --json tas.nc

Sizes are extrapolated from evenly spread samples, and the table says how far they may be off; files of up to 1 MiB are \
archived to nowhere instead. Gzip and netCDF-4 are estimated from the same samples with the same deflate, at netCDF-4's \
filters shuffle and deflate 1 or 5, without that format's own overhead. Times are measured while sampling.")]
    Estimate(Later<EstimateArgs>),
    /// Add an edited file to an archive as a new version; every version restores to the byte.
    #[command(after_help = "Examples:
  nc3z commit tas.nc.nc3z tas.nc -m 'units corrected'
  nc3z commit tas.nc.nc3z tas.nc --author 'A. Nobody' --date now
  nc3z commit --dry-run tas.nc.nc3z tas.nc     only report what would be added

What did not change is not stored again, wherever it stands in the new file. The new version is rebuilt and compared before it \
counts; a crash leaves the old state or the new one. Author and date are noted only where they are given. A file that has no variable of \
the archive (by name, type and lengths, or by its values) is refused without --force.
Older versions: `nc3z log`, `nc3z restore --version`, and NAME@VERSION in every command that reads.")]
    Commit(Later<CommitArgs>),
    /// Set, append to or delete attributes, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z att tas.nc.nc3z tas:units=K :title='Monthly means' -m 'units corrected'
  nc3z att tas.nc.nc3z tas:_FillValue=-999 tas:valid_range=0,400 'tas:code=\"167\"'
  nc3z att tas.nc.nc3z -a units,tas,o,c,K -a history,global,d,, -a comment,,c,c,none
  nc3z att tas.nc.nc3z --delete tas:comment --delete :history
  nc3z att tas.nc.nc3z 'a\\:b:units=m'               of the variable `a:b`

A value is text unless all of it is numbers; those without a suffix have the type that the attribute has, or, for _FillValue, \
missing_value and valid_*, that of the variable, or else int or double. Every version before stays what it was.")]
    Att(Later<AttArgs>),
    /// Overwrite values of a variable, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z set tas.nc.nc3z tas -d time,5 -d lat,45 -d lon,90 =1013.25    one value
  nc3z set tas.nc.nc3z tas -d time,2 --from mended.nc                a map out of another file
  nc3z set tas.nc.nc3z tas -d lat,-90.0,-60.0 =_                     the fill value
  nc3z set tas.nc.nc3z tas -d time,0 --plan =0                       only tell what would be done

Selections are those of `nc3z read`. Tiles that are overwritten whole are not read; what is staged beyond half of --memory \
goes to a temporary file.")]
    Set(Later<SetArgs>),
    /// Append the records of other files, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z append tas.nc.nc3z 2026-11.nc -m November
  nc3z append tas.nc.nc3z 2026-11.nc 2026-12.nc --quick
  nc3z append tas.nc.nc3z 2026-11.nc --replace-overlap   a month that was computed again

Every record variable of the archive must be in each file, of the same type and lengths. Variables without records must be \
equal, and so must attributes that say what numbers mean (units, scale_factor, _FillValue, ...), unless it is allowed otherwise.
The record coordinate (the variable named as the record dimension is, else the first time) must continue that of the archive. Records \
that the archive has already, values and all, change nothing.")]
    Append(Later<AppendArgs>),
    /// Rename dimensions, variables and attributes, as a new version of an archive.
    #[command(after_help = "Examples:
  nc3z rename tas.nc.nc3z -v t2m,tas -d x,lon
  nc3z rename tas.nc.nc3z -a tas@long_name,standard_name -a global@Conv,Conventions
  nc3z rename tas.nc.nc3z -v 'T\\,P,tp'        the variable `T,P`")]
    Rename(Later<RenameArgs>),
    /// Drop versions: write those that are kept to an archive of their own.
    #[command(after_help = "Examples:
  nc3z gc tas.nc.nc3z -o small.nc3z --keep 1            the original, what tags name, the newest
  nc3z gc tas.nc.nc3z --in-place --dry-run              only report what would be dropped
  nc3z gc tas.nc.nc3z --in-place --drop-tagged          the newest alone

Numbers stay what they were. Every version is rebuilt out of the new archive and compared before that takes its name.")]
    Gc(Later<GcArgs>),
    /// Add a version that is like an older one.
    #[command(after_help = "Examples:
  nc3z revert tas.nc.nc3z 3 -m 'the map was right'")]
    Revert(Later<RevertArgs>),
    /// List the versions of an archive, newest first.
    #[command(after_help = "Examples:
  nc3z log tas.nc.nc3z
  nc3z log --oneline tas.nc.nc3z
  nc3z log -n 1 --json tas.nc.nc3z@release")]
    Log(Later<LogArgs>),
    /// Tell what differs between two files, or two versions: dimensions, attributes, types, values.
    #[command(after_help = "Examples:
  nc3z diff tas.nc.nc3z@1 tas.nc.nc3z      what was changed since it was archived
  nc3z diff tas.nc.nc3z@3 @4               one version and the next
  nc3z diff --rel 1e-6 a.nc b.nc3z         classic files and archives alike
  nc3z diff -v tas --first 10 a.nc b.nc

Variables, dimensions and attributes are matched by name; a variable that was renamed and one that only moved are known again. Every \
bit of every value counts, unless --abs or --rel says which numbers are alike.
Exit codes: 0 equal, 1 different, 2 not compared, 3 corrupt archive.")]
    Diff(Later<DiffArgs>),
    /// Name a version, or list the names.
    #[command(after_help = "Examples:
  nc3z tag tas.nc.nc3z release             the newest version
  nc3z tag tas.nc.nc3z first --version 1
  nc3z tag tas.nc.nc3z                     all tags")]
    Tag(Later<TagArgs>),
    /// Tell what a file is: dimensions, variables, sizes, ratio, chains, digests.
    Info(Later<InfoArgs>),
    /// Tell where each byte lives.
    Layout(Later<ReportArgs>),
    /// Print a variable, or a part of it.
    #[command(after_help = "Examples:
  nc3z read tas.nc3z tas -d time,0 -d lat,30.0,60.0       the first map, between 30 and 60 degrees
  nc3z read tas.nc3z tas -d lat,52.5 -d lon,13.4 --format csv    the series of the nearest point
  nc3z read tas.nc3z tas -d lon,-10.0,10.0                across the meridian: longitudes wrap around
  nc3z read tas.nc3z tas -d time,2000-01,2000-03          the times of three months, in the coordinate's calendar
  nc3z read tas.nc3z tas --box -10,30,35,60 --decode      a region: west, east, south, north; unpacked, missing values as _
  nc3z read tas.nc3z tas -d time,-12, -d lat,,,-1         the last twelve, latitudes backwards
  nc3z read tas.nc tas --start 0,0,0 --count 1,90,180 --format npy -o map.npy

With -d, integers are indices from 0 (negative: from the end) and numbers with a decimal point or an \
exponent are values of the coordinate variable; both ends are included. A single value takes the nearest \
coordinate. Nothing is clamped: what lies outside is an error.
  nc3z read s3://bucket/tas.nc.nc3z tas -d time,0 --storage-option region=eu-west-1

A file may be a URL (https, s3, gs, az) of an archive or of a classic file: only what is needed is fetched.
NC3Z_CACHE=SIZE sets the memory for decoded tiles (0: none) [default: 1/8 of memory, at most 1GiB].")]
    Read(Later<ReadArgs>),
    /// Tell how a read would be done: tiles touched, bytes to fetch and to decode, bytes wanted.
    #[command(after_help = "Examples:
  nc3z explain tas.nc3z tas -d lat,52.5 -d lon,13.4       what a time series costs
  nc3z explain --json tas.nc3z tas -d time,0              what a map costs, for programs")]
    Explain(Later<ExplainArgs>),
    /// Check archives: every byte against its checksum; with --deep also the rebuilt original.
    #[command(visible_alias = "test")]
    #[command(after_help = "Examples:
  nc3z verify tas.nc.nc3z              every stored byte, at the speed of the disk
  nc3z verify --deep tas.nc.nc3z       also decodes everything and rebuilds the SHA-256
  nc3z verify --recursive /archive/    all archives of a tree, in parallel
  nc3z verify --deep tas.nc.nc3z@3     all bytes, and version 3 rebuilt
  nc3z verify --all-versions tas.nc.nc3z
  nc3z verify s3://bucket/tas.nc.nc3z  all of it is fetched

Damage is named by place in the archive, by variable, hyperslab and bytes of the original; exit code 3.")]
    Verify(Later<VerifyArgs>),
    /// Save what can be saved of a damaged archive.
    #[command(after_help = "Examples:
  nc3z repair bad.nc3z -o good.nc3z
  nc3z repair --in-place bad.nc3z      by parity, or not at all

Where the archive has parity (`nc3z parity`) and that suffices, the archive comes back as it was, byte for byte. Otherwise it \
writes a sound archive: of an archive of several versions, those that are whole, if the newest is; else of every tile of the \
newest that is whole, and lists the others in the variables' coordinates. They are marked as lost \
in the new archive; `nc3z restore --fill-lost` puts fill values in their place. Exit code 0 if nothing was lost, 3 if something \
was, 1 if nothing could be saved.")]
    Repair(Later<RepairArgs>),
    /// Print a file as CDL, as ncdump prints the original.
    #[command(disable_help_flag = true)]
    #[command(after_help = "Examples:
  nc3z dump -h tas.nc.nc3z             dimensions, variables, attributes
  nc3z dump -c tas.nc.nc3z             and the data of coordinate variables
  nc3z dump -v tas,time tas.nc.nc3z    and the data of two variables
  nc3z dump -p 9,17 tas.nc             enough digits to give every bit back
  nc3z dump tas.nc.nc3z | ncgen -o tas.nc

The text is that of ncdump 4.9.0 with the same letters, byte for byte; docs/dump.md lists the exceptions.")]
    Dump(Later<DumpArgs>),
    /// Write some variables, and a part of them, as a classic file of its own.
    #[command(after_help = "Examples:
  nc3z subset tas.nc.nc3z -v tas -d time,0,11 -o year.nc           the first twelve records
  nc3z subset tas.nc -v tas -d lat,35.0,70.0 -d lon,350.0,40.0 -o europe.nc
  nc3z subset tas.nc -d lat,,,2 -d lon,,,2 -o coarse.nc            all variables, every second point
  nc3z subset big.nc3z -v tas,pr -C -o bare.nc                     without coordinates

Coordinates, bounds, grid mappings, cell measures and ancillary variables come along (-C: not). The record \
dimension stays one. Attributes stay as they are, but for a line of `history`. \
With -d, integers are indices from 0 and numbers with a decimal point are coordinate values; ends included.")]
    Subset(Later<SubsetArgs>),
    /// Present many files as one: what they are like is written down, their data stay where they are.
    #[command(after_help = "Examples:
  nc3z aggregate data/ -o all.nc                  all archives and classic files below data/
  nc3z aggregate 2026-*.nc.nc3z -o 2026.nc        files by name, in any order
  nc3z aggregate --check data/ -o all.nc          can they be joined? nothing is written
  nc3z aggregate --append -o all.nc new.nc        one more month, without reading the others again
  nc3z aggregate --skip-misfits -v tas data/ -o tas.nc    one variable, without files that do not belong
  nc3z aggregate --new-dim member run*.nc -o ensemble.nc  runs along a dimension that no file has

The result is read as any other file: `read`, `dump`, `info`, `subset`, `explain`. Files are told apart by their coordinates, along any \
number of dimensions; each keeps its own packing and units, and values come out right. What does not fit together is refused, with the \
names of both files: other calendars, units, cell methods, overlaps, a file that is missing.")]
    Aggregate(Later<AggregateArgs>),
    /// Write the manifest of a tree of archives: SHA256SUMS, for `sha256sum -c` and `nc3z verify --manifest`.
    #[command(after_help = "Examples:
  nc3z manifest out/                                       all archives below out/
  nc3z manifest out/ --from-log 1.jsonl --from-log 2.jsonl those that two shards have written, each once
  nc3z verify --manifest out/                              check them against it

With --from-log, files that the logs list as failed, and archives that are gone, are named; the exit code is then 1.")]
    Manifest(Later<ManifestArgs>),
    /// Put many files into one, a ZIP in which each is read where it lies.
    #[command(after_help = "Examples:
  nc3z bundle data/ -o set.zip
  nc3z read set.zip!/2026-01.nc.nc3z tas -d time,0
  nc3z list set.zip

Any unzip takes it apart. Members of any uncompressed ZIP, and of a tar, are read by the same names.")]
    Bundle(Later<BundleArgs>),
    /// List what is in a directory, a bundle or an aggregation: sizes, variables, dimensions, ranges of coordinates.
    #[command(after_help = "Examples:
  nc3z list data/
  nc3z list 'data/**/2026-*.nc'
  nc3z list set.zip
  nc3z list all.nc            an aggregation, and the state of each of its fragments
  nc3z list --json data/

Of each coordinate variable the first and the last value are read, and no other data.")]
    List(Later<ListArgs>),
    /// Show the originals of archives as files, which any program reads.
    #[cfg(feature = "mount")]
    #[command(after_help = "Examples:
  nc3z mount archive/ /mnt/data           archive/2026/tas.nc.nc3z is /mnt/data/2026/tas.nc
  nc3z mount --daemon archive/ /mnt/data  returns when it is there
  nc3z mount set.zip /mnt/data            the members of a bundle
  nc3z mount tas.nc.nc3z tas.nc           one archive onto one file, which must be there
  nc3z mount --nfs archive/               by NFS, where there is no FUSE (macOS, Windows)
  ls /mnt/data/.versions/tas.nc           its versions and tags
  fusermount3 -u /mnt/data                takes it away; so do ^C, SIGTERM and SIGHUP

Nothing can be written. Each original has the size, mode and time that it had, and takes what its archive takes (`du`). Other files are \
passed through. Damaged bytes are an error for whoever reads them, and named in the log: standard error, the system log with --daemon, or \
the file of --log. docs/mount.md says more: fstab, systemd, archives that change meanwhile.")]
    Mount(Later<MountArgs>),
    /// Serve the originals of archives by HTTP: their bytes, their variables by DAP2 and Zarr, and a page to look at them.
    #[cfg(feature = "serve")]
    #[command(after_help = serve::EXAMPLES)]
    Serve(Later<ServeArgs>),
    /// Install the netCDF plug-in, by which programs open archives as they open any netCDF file.
    #[command(subcommand)]
    #[command(after_help = "Examples:
  nc3z plugin install
  nc3z plugin status
  nc3z plugin remove

Then netCDF4-python, xarray and all other programs with netCDF-C 4.10.1 or later open archives by name. For older programs there is \
`nc3z run`. docs/netcdf-plugin.md says more.")]
    Plugin(PluginCommand),
    /// Run a program with the netCDF plug-in preloaded, so that it opens archives (Linux).
    #[command(after_help = "Examples:
  nc3z run -- ncdump -h tas.nc.nc3z
  nc3z run -- ncks -v tas tas.nc.nc3z out.nc

For programs that are linked with netCDF-C 4.8.1 or later. The exit code is the program's; 127 where there is no such program, 126 where \
it cannot be run. Programs that load netCDF-C later, such as Python, need `nc3z plugin install`.")]
    Run(Later<RunCommandArgs>),
    /// Draw a variable: a map with a colour bar, or a series, as PNG or SVG.
    #[cfg(feature = "plot")]
    #[command(after_help = "Examples:
  nc3z plot tas.nc.nc3z tas -d time,0 -o map.png          a map of the first time
  nc3z plot tas.nc.nc3z tas -d lat,52.5 -d lon,13.4 -o series.svg
  nc3z plot tas.nc tas -d time,0 -d lat,35.0,70.0 -d lon,350.0,40.0 --range 270,300 -o europe.png
  nc3z plot anomalies.nc anomaly -d time,0 --diverging --size 1200x700 -o anomalies.png

Axes are in the units of the coordinates, packed values are unpacked, and missing values are left blank. Of more than two dimensions the last \
two make the map; of the others the first index is taken where none is given.")]
    Plot(Later<PlotArgs>),
    /// Write a page about a collection: a map of its sizes, ratios, what costs most, what cannot be read.
    #[command(after_help = "Examples:
  nc3z report /archive -o report.html

The page is one HTML file with nothing to fetch and nothing to run. Headers and indices alone are read. Exit codes: 0 all could be read, 1 not \
all, 3 one is a corrupt archive; the page is written in any case.")]
    Report(Later<CollectionReportArgs>),
    /// Find variables, dimensions and attributes across archives and classic files, by name or by value.
    #[command(after_help = "Examples:
  nc3z find temperature data/             names, standard names, titles: whatever has it
  nc3z find 'tas*' data/                  names and values that begin so
  nc3z find standard_name=air_temperature archive/ *.nc
  nc3z find units='*hPa*' -l data/        only the files
  nc3z find --json cell_methods='*max*' data/

Headers alone are read. Exit codes: 0 found, 1 nothing found or a file that cannot be read, 3 corrupt archive.")]
    Find(Later<FindArgs>),
    /// Write references into an archive, by which Zarr's readers read it where it lies.
    #[command(after_help = "Examples:
  nc3z archive --profile zarr tas.nc
  nc3z refs tas.nc.nc3z -o tas.json
  nc3z refs tas.nc.nc3z --url s3://bucket/tas.nc.nc3z -o tas.json
  nc3z refs https://example.org/tas.nc.nc3z > tas.json
  nc3z refs set.zip!/tas.nc.nc3z -o tas.json              places in the bundle set.zip

In Python: xarray.open_dataset('reference://', engine='zarr', consolidated=False, backend_kwargs={'storage_options': {'fo': 'tas.json'}}). \
Each array needs one chain, of codecs that NumCodecs has, and chunks of one shape; what does not fit is named. Readers do not see \
nc3z's checksums, nor changes: references are of the archive as it is now. Short archives are written into the references.")]
    Refs(Later<RefsArgs>),
    /// Add redundancy to archives, or take it away.
    #[command(subcommand)]
    Parity(ParityCommand),
    /// List the filters and codecs that chains may name: those built in and those of plug-ins.
    #[command(after_help = "Examples:
  nc3z filters                              what is built in: HDF5's numbers and NumCodecs' ids
  nc3z filters --plugins                    and what HDF5_PLUGIN_PATH has
  nc3z filters --plugin-path /opt/plugin    the same for a directory
  nc3z filters --plugins --translate '2,4|32015,9'    a chain in the other notation
  nc3z archive --plugins --chain '*=32013,3,0,0,0,0,0' tas.nc    a filter by its number and parameters

Plug-ins are programs of others: nothing is loaded without being asked for, and never because of what an archive says.")]
    Filters(Later<FiltersArgs>),
    /// Print a script that completes commands, options and file names in a shell.
    #[command(after_help = "Examples:
  nc3z completions bash > /etc/bash_completion.d/nc3z
  nc3z completions zsh > ~/.zfunc/_nc3z                    with fpath+=~/.zfunc
  nc3z completions fish > ~/.config/fish/completions/nc3z.fish")]
    Completions(Later<CompletionsArgs>),
    /// Write manual pages.
    #[command(after_help = "Examples:
  nc3z man -o /usr/local/share/man/man1    nc3z.1, nc3z-archive.1, ...
  nc3z man | man -l -                      the tool's own page, at once")]
    Man(Later<ManArgs>),
    /// Print or write the specification of the format: text, dictionaries, vectors and a reference decoder.
    #[command(after_help = "Examples:
  nc3z spec                        the contents: chapters, version, how to cite
  nc3z spec archive.md | less      one chapter
  nc3z spec -o nc3z-specification  all files into a directory, to be kept beside archives
  nc3z spec --document | pandoc -o nc3z.pdf

A decoder can be written from these files alone. `bundle`, `aggregate` and `archive --manifest bagit` add them to a collection \
with --with-spec.")]
    Spec(Later<SpecArgs>),
    /// Call the plug-ins of another nc3z process, which starts this one.
    #[command(hide = true)]
    FilterWorker,
}

/// Reads a number of threads; more than 1,024 would only cost memory.
fn parse_threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n <= 1024).ok_or_else(|| format!("`{text}` is no number from 0 to 1024"))
}

/// Reads `4096`, `64KiB`, `1MiB`, `2G`: powers of 1024, as `dd` and `ls` mean them.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return Err(format!("`{unit}` is no unit; use B, KiB, MiB or GiB")),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is no size such as 64KiB or 1MiB"))?;
    number.checked_mul(1 << shift).filter(|&n| n > 0).ok_or_else(|| format!("`{text}` is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    #[test]
    fn command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn options_of_all_commands_are_taken_by_each_and_described_once() {
        let mut command = command();
        command.build();
        for part in command.get_subcommands_mut().filter(|part| part.get_name() != "help") {
            let help = part.render_long_help().to_string();
            assert!(!help.contains("--plugin-path <"), "{help}");
            assert_eq!(help.matches(SHARED_OPTIONS).count(), 1, "{help}");
        }
        assert!(command.render_long_help().to_string().contains("--plugin-path <DIR:...>"));
        for args in [
            ["nc3z", "--color", "never", "info", "x"],
            ["nc3z", "info", "--color", "never", "x"],
            ["nc3z", "checkout", "--color", "never", "x"],
        ] {
            let words = args.map(OsString::from);
            let matches = command_for(&words).try_get_matches_from(words).unwrap();
            assert_eq!(Cli::from_arg_matches(&matches).unwrap().color, Color::Never);
        }
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(parse_size("1MiB"), Ok(1 << 20));
        assert_eq!(parse_size("64k"), Ok(64 << 10));
        assert_eq!(parse_size("7"), Ok(7));
        assert!(parse_size("0").is_err() && parse_size("x").is_err() && parse_size("1MB").is_err());
        assert!(parse_size("99999999999GiB").is_err());
    }
}
