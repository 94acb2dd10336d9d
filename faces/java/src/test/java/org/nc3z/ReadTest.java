package org.nc3z;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.Test;

/** Archives that older versions of the program wrote, and their damages. */
public class ReadTest {
    private static final Path DATA = Paths.get("../../testdata");
    private static final Path ARCHIVES = DATA.resolve("archives/v1_0_0");
    /** Archives that users' own chains made, of objects that this reader does not know. */
    private static final String OTHERS = ".*(bitshuffle|blosc|hdf5-filters|late-chains|pcodec).*";

    private static byte[] restored(Archive archive) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        archive.restore(out);
        return out.toByteArray();
    }

    @Test
    public void archivesGiveTheirOriginalsBack() throws IOException {
        int count = 0;
        try (Stream<Path> all = Files.list(ARCHIVES)) {
            for (Path path : (Iterable<Path>) all.filter(p -> p.toString().endsWith(".nc3z"))::iterator) {
                Archive.Options options = new Archive.Options();
                if (path.toString().contains(".lost.")) options.fillLost();
                try (Archive archive = Archive.open(Source.of(path), options)) {
                    String sha = new String(Files.readAllBytes(Paths.get(path + ".sha256")), StandardCharsets.US_ASCII).substring(0, 64);
                    assertEquals(path.toString(), sha, Bytes.hex(Dataset.sha256().digest(restored(archive))));
                    count++;
                } catch (Nc3zException e) {
                    assertTrue(e.getMessage(), path.toString().matches(OTHERS) && e.kind() == Nc3zException.Kind.UNSUPPORTED && e.getMessage().contains("its chain ["));
                }
            }
        }
        assertTrue(count + " archives", count >= 33);
    }

    @Test
    public void everyVersionIsRead() throws IOException {
        Path path = ARCHIVES.resolve("states.later.nc3z");
        try (Archive archive = Archive.open(path)) {
            assertTrue(archive.versions().size() > 1);
            for (Archive.Version v : archive.versions()) {
                try (Archive older = Archive.open(Source.of(path), new Archive.Options().version(v.number()))) {
                    assertEquals(v.number(), older.version());
                    assertEquals(older.originalLength(), restored(older).length);
                }
            }
        }
        try (Archive archive = Archive.open(Source.of(path), new Archive.Options().version(99))) {
            fail("version 99 of " + archive.version());
        } catch (Nc3zException e) {
            assertEquals(Nc3zException.Kind.ARGUMENT, e.kind());
        }
    }

    @Test
    public void hyperslabsAreThoseOfTheClassicFile() throws IOException {
        Random random = new Random(2);
        String[][] pairs = {{"numeric.chunked", "numeric.nc"}, {"numeric.max", "numeric.nc"}, {"all_types_cdf5.padded", "all_types_cdf5.nc"},
            {"record_padding.default.parity", "record_padding.nc"}, {"all_types_cdf2.whole", "all_types_cdf2.nc"}};
        for (String[] pair : pairs) {
            try (Dataset archive = Dataset.open(Source.of(ARCHIVES.resolve(pair[0] + ".nc3z"))); Dataset file = Dataset.open(Source.of(DATA.resolve("classic").resolve(pair[1])))) {
                for (Header.Variable v : file.header().variables()) {
                    assertArrayEquals(file.read(v), archive.read(archive.header().variables().get(v.number())));
                    int rank = v.shape().length;
                    for (int i = 0; i < 50 && Arrays.stream(v.shape()).allMatch(n -> n > 0); i++) {
                        long[] start = new long[rank];
                        long[] count = new long[rank];
                        long[] stride = new long[rank];
                        for (int k = 0; k < rank; k++) {
                            start[k] = (long) (random.nextDouble() * v.shape()[k]);
                            stride[k] = 1 + random.nextInt(random.nextBoolean() ? 1 : 100);
                            count[k] = (long) (random.nextDouble() * ((v.shape()[k] - 1 - start[k]) / stride[k] + 2));
                        }
                        assertArrayEquals(file.read(v, start, count, stride), archive.read(archive.header().variables().get(v.number()), start, count, stride));
                    }
                }
            }
        }
    }

    @Test
    public void openingTakesFewReadsAndATileTakesOne() throws IOException {
        byte[] data = Files.readAllBytes(ARCHIVES.resolve("numeric.chunked.nc3z"));
        int[] reads = {0};
        Source source = new Source() {
            @Override public long length() { return data.length; }

            @Override public void read(long offset, byte[] into, int at, int count) {
                reads[0]++;
                System.arraycopy(data, (int) offset, into, at, count);
            }
        };
        try (Archive archive = Archive.open(source)) {
            assertTrue(reads[0] + " reads", reads[0] <= 4);
            Header.Variable v = archive.header().variables().stream().filter(x -> x.shape().length > 1).findFirst().get();
            long[] one = new long[v.shape().length];
            Arrays.fill(one, 1);
            reads[0] = 0;
            archive.read(v, new long[one.length], one, null);
            assertTrue(reads[0] + " reads", reads[0] <= 2);
            int before = reads[0];
            archive.read(v, new long[one.length], one, null);
            assertEquals(before, reads[0]);
        }
    }

    @Test
    public void everyPrefixAndFlippedByteIsAnErrorOrTheSameFile() throws IOException {
        for (String name : new String[] {"all_types_cdf5.short", "all_types_cdf2.whole", "record_padding.stale", "states.later"}) {
            byte[] sound = Files.readAllBytes(ARCHIVES.resolve(name + ".nc3z"));
            byte[] original = restored(Archive.open(Source.of(sound)));
            Random random = new Random(3);
            for (int i = 0; i < sound.length; i += 1 + sound.length / 200) {
                byte[] cut = Arrays.copyOf(sound, i);
                assertNull(name + " cut to " + i, outcome(cut, null));
                byte[] bad = sound.clone();
                bad[i] ^= 1 << random.nextInt(8);
                outcome(bad, original);
            }
        }
    }

    /** The bytes restored, or null where the archive is refused; other bytes than those expected are a failure. Stale archives have no digest. */
    private static byte[] outcome(byte[] archive, byte[] original) throws IOException {
        try (Archive opened = Archive.open(Source.of(archive))) {
            byte[] out = restored(opened);
            if (original != null) assertArrayEquals(original, out);
            return out;
        } catch (Nc3zException e) {
            return null;
        }
    }

    @Test
    public void jsonIsStrict() throws IOException {
        for (String bad : new String[] {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "1e999", "01", "[1 2]", "\"\\x\"", "\"\u0001\"", "nul", "1.", "{\"a\"}", "[]]", "\"\\ud800\""}) {
            try {
                Json.parse(bad.getBytes(StandardCharsets.UTF_8), "test", 32, 1000);
                fail(bad);
            } catch (Nc3zException e) {
                assertEquals(Nc3zException.Kind.CORRUPT, e.kind());
            }
        }
        assertEquals(5L, Json.parse("5".getBytes(StandardCharsets.UTF_8), "test", 32, 1000));
        assertEquals(5.0, Json.parse("5.0".getBytes(StandardCharsets.UTF_8), "test", 32, 1000));
        assertEquals("{\"a\":[true,null,\"é\"]}".replace("é", "\\u00e9"), Json.text(Json.parse("{\"a\":[true,null,\"é\"]}".getBytes(StandardCharsets.UTF_8), "test", 32, 1000)));
    }

    @Test
    public void theChecksumOfFramesIsXxh64() {
        assertEquals(0xEF46DB3751D8E999L, Zstd.xxh64(new byte[0], 0, 0));
        assertEquals(0x44BC2CF5AD770999L, Zstd.xxh64("abc".getBytes(StandardCharsets.US_ASCII), 0, 3));
    }
}
