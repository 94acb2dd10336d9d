package org.nc3z;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** What tests/test_java.py asks of the reader in one Java machine: a command a line, fields separated by tabs; an answer a line. */
public final class Harness {
    private Harness() {}

    /** Answers until the end of the input. */
    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            String answer;
            try {
                answer = answer(line.split("\t", -1));
            } catch (Nc3zException e) {
                answer = e.kind() + "\t" + e.getMessage();
            } catch (IOException e) {
                answer = "IO\t" + e;
            } catch (RuntimeException | Error e) {
                e.printStackTrace();
                answer = "CRASH\t" + e;
            }
            System.out.println(answer.replace('\n', ' '));
            System.out.flush();
        }
    }

    private static String answer(String[] f) throws IOException {
        switch (f[0]) {
            case "hash":
                return hash(f[1], f.length > 2 ? f[2] : "");
            case "zstd":
                return zstd(f);
            case "slab":
                return slab(f);
            case "mutate":
                return mutate(Paths.get(f[1]), Integer.parseInt(f[2]), Long.parseLong(f[3]));
            case "speed":
                return speed(f[1], Double.parseDouble(f[2]));
            case "run":
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                java.io.PrintStream printed = Main.utf8(out);
                int code = Main.run(Arrays.copyOfRange(f, 1, f.length), printed, printed);
                printed.flush();
                return code + "\t" + new String(out.toByteArray(), StandardCharsets.UTF_8).replace('\n', '|').replace('\t', ' ');
            default:
                throw new IllegalArgumentException(f[0]);
        }
    }

    private static OutputStream nowhere() {
        return new OutputStream() {
            @Override public void write(int b) {}

            @Override public void write(byte[] b, int at, int n) {}
        };
    }

    /** SHA-256 of the original of a version, or of the newest. */
    private static String hash(String path, String version) throws IOException {
        Archive.Options options = new Archive.Options();
        if (version.equals("fill")) {
            options.fillLost();
        } else if (version.equals("older")) {
            options.older();
        } else if (!version.isEmpty()) {
            options.version(Long.parseLong(version));
        }
        try (Archive archive = Archive.open(Source.of(Paths.get(path)), options)) {
            MessageDigest sha = Dataset.sha256();
            archive.restore(new DigestOutputStream(nowhere(), sha));
            return "OK\t" + Bytes.hex(sha.digest());
        }
    }

    /** zstd FRAME OUT LENGTH DICTIONARY raw|formatted: a length of -N stands for at most N. */
    private static String zstd(String[] f) throws IOException {
        byte[] frame = Files.readAllBytes(Paths.get(f[1]));
        int length = Integer.parseInt(f[3]);
        Zstd.Dictionary with = null;
        if (f.length > 5) {
            byte[] d = Files.readAllBytes(Paths.get(f[4]));
            with = f[5].equals("raw") ? Zstd.Dictionary.raw(d) : Zstd.Dictionary.formatted(d);
        }
        byte[] out = Zstd.decode(frame, 0, frame.length, Math.max(length, 0), Math.abs(length), with);
        Files.write(Paths.get(f[2]), out);
        return "OK\t" + out.length;
    }

    private static long[] numbers(String text) {
        return text.isEmpty() ? new long[0] : Arrays.stream(text.split(",")).mapToLong(Long::parseLong).toArray();
    }

    /** slab FILE NUMBER START COUNT STRIDE OUT, of the variable of a number. */
    private static String slab(String[] f) throws IOException {
        try (Dataset data = Dataset.open(Source.of(Paths.get(f[1])))) {
            byte[] out = data.read(data.header().variables().get(Integer.parseInt(f[2])), numbers(f[3]), numbers(f[4]), numbers(f[5]));
            Files.write(Paths.get(f[6]), out);
            return "OK\t" + out.length;
        }
    }

    /** Restores mutations of an archive from memory: nothing but the documented error may come, and no other file. */
    private static String mutate(Path path, int count, long seed) throws IOException {
        byte[] sound = Files.readAllBytes(path);
        MessageDigest sha = Dataset.sha256();
        Random random = new Random(seed);
        byte[] expected = null;
        Map<String, Integer> found = new TreeMap<>();
        for (int i = -1; i < count; i++) {
            byte[] d = sound.clone();
            if (i >= 0) {
                switch (random.nextInt(6)) {
                    case 0:
                        d = Arrays.copyOf(d, random.nextInt(d.length));
                        break;
                    case 1:
                        d[random.nextInt(d.length)] = (byte) random.nextInt(256);
                        break;
                    case 2:
                        int from = random.nextInt(d.length);
                        Arrays.fill(d, from, Math.min(d.length, from + 1 + random.nextInt(64)), (byte) (random.nextBoolean() ? 0 : 255));
                        break;
                    default:
                        d[random.nextInt(d.length)] ^= 1 << random.nextInt(8);
                }
            }
            String what;
            try (Archive archive = Archive.open(Source.of(d))) {
                sha.reset();
                archive.restore(new DigestOutputStream(nowhere(), sha));
                byte[] digest = sha.digest();
                if (expected == null) expected = digest;
                what = Arrays.equals(digest, expected) ? "same" : "WRONG";
            } catch (Nc3zException e) {
                what = e.kind().toString();
            } catch (IOException e) {
                what = "IO";
            } catch (RuntimeException | Error e) {
                e.printStackTrace();
                what = "CRASH " + e.getClass().getSimpleName() + " mutation " + i;
            }
            found.merge(what, 1, Integer::sum);
        }
        return "OK\t" + found;
    }

    /** Reads the largest variable again and again for some seconds of this thread's processor time; megabytes a second of the last half. */
    private static String speed(String path, double seconds) throws IOException {
        java.lang.management.ThreadMXBean clock = java.lang.management.ManagementFactory.getThreadMXBean();
        Header.Variable largest = null;
        long begin = clock.getCurrentThreadCpuTime(), half = 0, bytes = 0;
        double first = 0;
        while (clock.getCurrentThreadCpuTime() - begin < seconds * 1e9) {
            long before = clock.getCurrentThreadCpuTime();
            long made;
            try (Dataset data = Dataset.open(Source.of(Paths.get(path)))) {
                for (Header.Variable v : data.header().variables()) {
                    if (largest == null || data.present(v) * v.type().size() > data.present(largest) * largest.type().size()) largest = v;
                }
                made = data.read(data.header().variables().get(largest.number())).length;
            }
            long after = clock.getCurrentThreadCpuTime();
            first = first == 0 ? made / 1e6 / ((after - before) / 1e9) : first;
            if (after - begin > seconds * 5e8) {
                half += after - before;
                bytes += made;
            }
        }
        return "OK\t" + largest.name() + "\tfirst " + Math.round(first) + "\twarm " + Math.round(bytes / 1e6 / (half / 1e9));
    }
}
