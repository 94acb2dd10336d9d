package org.nc3z;

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.*;

/** The command line: {@code java -jar nc3z-java.jar restore tas.nc3z}. Exit codes: 0 done, 1 failed, 2 usage, 3 corrupt. */
public final class Main {
    private static final String USAGE = "usage: java -jar nc3z-java.jar COMMAND ...\n"
        + "  restore FILE [-o OUT] [--force] [--fill] [--older]   the original file, byte for byte; OUT may be -\n"
        + "  dump FILE                                            dimensions, variables and attributes as CDL\n"
        + "  read FILE VARIABLE [-s START] [-c COUNT] [-t STRIDE] [--raw]\n"
        + "                                                       values of a hyperslab, one a line; --raw: big-endian bytes\n"
        + "  verify [--quick] FILE...                             every byte against its checksum; without --quick also all tiles and digests\n"
        + "  hash FILE...                                         SHA-256 of each original, rebuilt\n"
        + "  root FILE...                                         digest of the content\n"
        + "  check SLICE PROOF ROOT                               whether a slice is a part of the dataset with a root\n"
        + "  versions FILE                                        the versions of an archive, the newest first\n"
        + "  list BUNDLE                                          the members of a bundle\n"
        + "FILE is an archive, or FILE@N: version N of it, or a bundle with -m MEMBER; dump, read and root also take classic files.\n"
        + "START, COUNT, STRIDE: numbers with commas.\n";

    private final List<String> words = new ArrayList<>();
    private final java.util.Map<String, String> options = new java.util.HashMap<>();
    private final PrintStream out;

    private Main(String[] args, PrintStream out) throws Nc3zException {
        this.out = out;
        List<String> flags = Arrays.asList("--force", "--fill", "--older", "--raw", "--quick");
        for (int i = 0; i < args.length; i++) {
            if (Arrays.asList("-o", "-s", "-c", "-t", "-m").contains(args[i]) && i + 1 < args.length) {
                options.put(args[i], args[++i]);
            } else if (flags.contains(args[i])) {
                options.put(args[i], "");
            } else if (args[i].startsWith("-") && args[i].length() > 1) {
                throw Nc3zException.argument("unknown option " + args[i]);
            } else {
                words.add(args[i]);
            }
        }
    }

    /** Runs a command and ends the Java machine with its exit code. */
    public static void main(String[] args) { System.exit(run(args, utf8(System.out), System.err)); }

    /** Runs a command; gives its exit code. */
    static int run(String[] args, PrintStream out, PrintStream err) {
        try {
            Main main = new Main(args, out);
            if (main.words.isEmpty()) {
                err.print(USAGE);
                return 2;
            }
            int code = main.command();
            out.flush();
            if (code == 2) err.print(USAGE);
            return out.checkError() ? 1 : code;
        } catch (Nc3zException e) {
            err.println("nc3z-java: " + e.getMessage());
            return e.kind() == Nc3zException.Kind.CORRUPT ? 3 : e.kind() == Nc3zException.Kind.ARGUMENT ? 2 : 1;
        } catch (java.nio.file.NoSuchFileException e) {
            err.println("nc3z-java: " + e.getMessage() + ": no such file");
            return 1;
        } catch (FileAlreadyExistsException e) {
            err.println("nc3z-java: " + e.getMessage() + " exists; --force replaces it");
            return 1;
        } catch (IOException e) {
            err.println("nc3z-java: " + e);
            return 1;
        }
    }

    private int command() throws IOException {
        String command = words.remove(0);
        int least = command.equals("read") ? 2 : command.equals("check") ? 3 : 1;
        boolean many = Arrays.asList("hash", "verify", "root").contains(command);
        if (words.size() < least || !many && words.size() > least) return 2;
        switch (command) {
            case "restore": restore(words.get(0)); return 0;
            case "dump":
                try (Dataset data = open(words.get(0))) {
                    Cdl.print(data.header(), Paths.get(words.get(0)).getFileName().toString(), out);
                }
                return 0;
            case "read": read(); return 0;
            case "hash":
                return each(name -> {
                    try (Archive archive = archive(name)) {
                        return "SHA256-ORIGINAL (" + Cdl.quoted(name) + ") = " + Bytes.hex(digest(archive).digest());
                    }
                });
            case "root":
                return each(name -> {
                    try (Dataset data = open(name)) { return Digest.of(data).root() + "  " + Cdl.quoted(name); }
                });
            case "verify":
                return each(name -> {
                    boolean deep = !options.containsKey("--quick");
                    try (Archive archive = archive(name)) {
                        StringBuilder text = new StringBuilder(Cdl.quoted(name) + ": sound (" + (deep ? "deep" : "quick: no tile was decoded") + ")");
                        for (String note : Checker.check(archive, deep)) text.append("\n  ").append(note);
                        return text.toString();
                    }
                });
            case "check":
                Proof.check(Files.readAllBytes(Paths.get(words.get(0))), Files.readAllBytes(Paths.get(words.get(1))), words.get(2)).forEach(out::println);
                return 0;
            case "list":
                try (Bundle bundle = Bundle.open(Source.of(Paths.get(words.get(0))))) { bundle.names().forEach(name -> out.println(Cdl.quoted(name))); }
                return 0;
            case "versions": versions(words.get(0)); return 0;
            default: return 2;
        }
    }

    /** The path and the version of FILE or FILE@N. A file of the whole name takes precedence. */
    private Archive archive(String name) throws IOException {
        Archive.Options o = new Archive.Options();
        if (options.containsKey("--fill")) o.fillLost();
        if (options.containsKey("--older")) o.older();
        Path path = Paths.get(name);
        int at = name.lastIndexOf('@');
        if (!Files.exists(path) && at > 0 && name.substring(at + 1).matches("[0-9]{1,10}")) {
            path = Paths.get(name.substring(0, at));
            o.version(Long.parseLong(name.substring(at + 1)));
        }
        return Archive.open(source(path), o);
    }

    /** The file, or with -m a member of it. */
    private Source source(Path path) throws IOException {
        return options.containsKey("-m") ? Bundle.open(Source.of(path)).member(options.get("-m")) : Source.of(path);
    }

    private Dataset open(String name) throws IOException {
        Path path = Paths.get(name);
        if (Files.exists(path)) {
            Source source = source(path);
            if (!Archive.isArchive(source.bytes(0, (int) Math.min(8, source.length())))) return ClassicFile.open(source);
            source.close();
        }
        return archive(name);
    }

    private void restore(String name) throws IOException {
        String to = options.get("-o");
        if (to == null) {
            if (!name.endsWith(".nc3z")) throw Nc3zException.argument(name + " does not end with .nc3z: name the output with -o");
            to = name.substring(0, name.length() - 5);
        }
        if (to.equals("-")) {
            original(name, out);
            return;
        }
        Path path = Paths.get(to);
        if (Files.exists(path) && !options.containsKey("--force")) throw new FileAlreadyExistsException(to);
        Path temporary = Files.createTempFile(path.toAbsolutePath().getParent(), "." + path.getFileName(), ".part");
        try {
            try (OutputStream file = Files.newOutputStream(temporary)) {
                original(name, file);
            }
            Files.move(temporary, path, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(temporary);
        }
    }

    /** The original of an archive; a member of a bundle that is no archive as it is. */
    private void original(String name, OutputStream to) throws IOException {
        if (options.containsKey("-m")) {
            try (Bundle bundle = Bundle.open(Source.of(Paths.get(name)))) {
                Source member = bundle.member(options.get("-m"));
                if (!Archive.isArchive(member.bytes(0, (int) Math.min(8, member.length())))) {
                    bundle.copy(options.get("-m"), to);
                    return;
                }
            }
        }
        try (Dataset data = open(name)) {
            if (!(data instanceof Archive)) throw Nc3zException.unsupported("not an nc3z archive, but a classic netCDF file");
            ((Archive) data).restore(to);
        }
    }

    private long[] numbers(String option, long[] otherwise) throws Nc3zException {
        String text = options.get(option);
        if (text == null) return otherwise;
        String[] parts = text.split(",");
        long[] found = new long[parts.length];
        for (int i = 0; i < parts.length; i++) {
            try {
                found[i] = Long.parseLong(parts[i].trim());
            } catch (NumberFormatException e) {
                throw Nc3zException.argument(option + " " + text + ": numbers with commas expected");
            }
        }
        return found;
    }

    private void read() throws IOException {
        try (Dataset data = open(words.get(0))) {
            Header.Variable v = data.header().variable(words.get(1));
            long[] shape = v.shape();
            long[] start = numbers("-s", new long[shape.length]);
            long[] stride = numbers("-t", null);
            long[] count = options.containsKey("-c") ? numbers("-c", null) : new long[shape.length];
            for (int k = 0; k < shape.length && !options.containsKey("-c") && start.length == shape.length; k++) {
                long step = stride == null || stride.length != shape.length || stride[k] < 1 ? 1 : stride[k];
                count[k] = start[k] >= shape[k] ? 0 : (shape[k] - 1 - start[k]) / step + 1;
            }
            byte[] values = data.read(v, start, count, stride);
            if (options.containsKey("--raw")) {
                out.write(values, 0, values.length);
                return;
            }
            for (int at = 0; at < values.length; at += v.type().size()) out.println(Cdl.value(v.type(), values, at));
        }
    }

    private static MessageDigest digest(Archive archive) throws IOException {
        MessageDigest sha = Dataset.sha256();
        archive.restore(new DigestOutputStream(new OutputStream() {
            @Override public void write(int b) {}

            @Override public void write(byte[] b, int at, int n) {}
        }, sha));
        return sha;
    }

    /** A line of output for a file. */
    private interface Line {
        String of(String name) throws IOException;
    }

    private int each(Line line) {
        int code = 0;
        for (String name : words) {
            try {
                out.println(line.of(name));
            } catch (IOException e) {
                out.println("# " + Cdl.quoted(name + ": " + (e instanceof Nc3zException ? e.getMessage() : e.toString())));
                boolean corrupt = e instanceof Nc3zException && ((Nc3zException) e).kind() == Nc3zException.Kind.CORRUPT;
                code = Math.max(code, corrupt ? 3 : 1);
            }
        }
        return code;
    }

    private void versions(String name) throws IOException {
        try (Archive archive = archive(name)) {
            for (Archive.Version v : archive.versions()) {
                StringBuilder line = new StringBuilder().append(v.number());
                for (String key : new String[] {"time", "author", "message"}) line.append(v.said(key) == null ? "" : "\t" + Cdl.quoted(v.said(key)));
                archive.tags().forEach((tag, number) -> line.append(number == v.number() ? "\t" + tag : ""));
                out.println(line);
            }
        }
    }

    static PrintStream utf8(OutputStream to) {
        try {
            return new PrintStream(new BufferedOutputStream(to, 1 << 16), false, StandardCharsets.UTF_8.name());
        } catch (java.io.UnsupportedEncodingException e) {
            throw new AssertionError(e);
        }
    }
}
