package org.nc3z;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.junit.Test;

/** The vectors of the specification. */
public class VectorsTest {
    private static final Path SPEC = Paths.get("../../spec");
    /** Objects of chains that this reader knows. */
    private static final List<String> KNOWN = Arrays.asList("shuffle", "zstd", "zlib", "lzma", "nc3z.num", "nc3z.base", "bitround", "bitgroom", "granularbr", "quantize");

    private static List<Object> vectors(String name) throws IOException {
        return Json.list(Json.parse(Files.readAllBytes(SPEC.resolve("vectors").resolve(name)), name, 32, 1 << 22));
    }

    private static byte[] bytes(Object hex) {
        String s = ((String) hex).replace(" ", "");
        byte[] out = new byte[s.length() / 2];
        for (int i = 0; i < out.length; i++) out[i] = (byte) Integer.parseInt(s.substring(2 * i, 2 * i + 2), 16);
        return out;
    }

    private static long[] numbers(Object list) { return Json.list(list).stream().mapToLong(x -> (Long) x).toArray(); }

    @Test
    public void numericPayloadsDecodeAndNothingElseOfTheirPrefixesDoes() throws IOException {
        Random random = new Random(1);
        List<Object> all = vectors("num.json");
        assertTrue(all.size() >= 31);
        for (Object o : all) {
            Map<String, Object> v = Json.object(o);
            String name = (String) v.get("name");
            DataType type = DataType.valueOf(((String) v.get("type")).toUpperCase(Locale.ROOT));
            long[] geometry = numbers(v.get("geometry"));
            Words dictionary = v.get("dictionary") == null ? null : Num.dictionary(bytes(v.get("dictionary")), type);
            byte[] payload = bytes(v.get("payload"));
            List<Object> values = Json.list(v.get("values"));
            int n = values.size();
            Words reference = reference(v.get("reference"), type);
            Words out = Num.decode(payload, 0, payload.length, type, n, geometry, dictionary, reference);
            for (int i = 0; i < n; i++) assertEquals(name + " " + i, Long.parseUnsignedLong(((String) values.get(i)).substring(2), 16), out.get(i));
            for (int end = 0; end < payload.length; end++) {
                try {
                    Num.decode(payload, 0, end, type, n, geometry, dictionary, reference);
                    fail(name + " cut to " + end);
                } catch (Nc3zException expected) {
                    assertTrue(expected.getMessage().length() > 0);
                }
            }
            for (int i = 0; i < 200; i++) {
                byte[] bad = payload.clone();
                for (int k = random.nextInt(3); k >= 0; k--) {
                    bad[random.nextInt(bad.length)] = (byte) (random.nextInt(3) == 0 ? -random.nextInt(2) : random.nextInt(256));
                }
                try {
                    assertEquals(n, Num.decode(bad, 0, bad.length, type, n, geometry, dictionary, reference).n);
                } catch (Nc3zException refused) {
                    assertTrue(refused.getMessage().length() > 0);
                }
            }
        }
    }

    private static Words reference(Object vector, DataType type) throws Nc3zException {
        if (vector == null) return null;
        Map<String, Object> v = Json.object(vector);
        DataType from = DataType.valueOf(((String) v.get("type")).toUpperCase(Locale.ROOT));
        List<Object> values = Json.list(v.get("values"));
        Words out = Words.make(from, values.size());
        for (int i = 0; i < values.size(); i++) out.set(i, Long.parseUnsignedLong(((String) values.get(i)).substring(2), 16));
        return Num.convert(out, type);
    }

    private static Words patterns(DataType type, Object... values) throws Nc3zException {
        Words out = Words.make(type, values.length);
        for (int i = 0; i < values.length; i++) {
            double x = ((Number) values[i]).doubleValue();
            out.set(i, type == DataType.FLOAT ? Float.floatToRawIntBits((float) x) & 0xFFFFFFFFL : Double.doubleToRawLongBits(x));
        }
        return out;
    }

    private static String inText(String name) throws IOException {
        String text = new String(Files.readAllBytes(SPEC.resolve("num.md")), StandardCharsets.UTF_8);
        int at = text.indexOf("\n" + name + ": ") + name.length() + 3;
        return text.substring(at, text.indexOf('\n', at));
    }

    @Test
    public void referencesAreAdded() throws IOException {
        byte[] one = bytes(inText("reference"));
        Words other = patterns(DataType.FLOAT, 1.5, 1e20, 2, 2.5, 3, 1e20, 1e20, 0.5);
        Words out = Num.decode(one, 0, one.length, DataType.FLOAT, 8, new long[3], null, other);
        assertArrayEquals(patterns(DataType.FLOAT, 1.5, 1e20, 2, 2.75, 3, 1e20, -1.5, 0.5).bigEndian(), out.bigEndian());
        byte[] held = bytes(inText("held"));
        Words floats = patterns(DataType.FLOAT, 0.07, 0.13, Double.NaN, 27.3);
        out = Num.decode(held, 0, held.length, DataType.DOUBLE, 4, new long[3], null, Num.convert(floats, DataType.DOUBLE));
        assertArrayEquals(patterns(DataType.DOUBLE, 0.07, 0.14, 0.28, 27.32).bigEndian(), out.bigEndian());
    }

    @Test
    public void valuesConvertBetweenTypes() throws IOException {
        Words d = patterns(DataType.DOUBLE, 2.5, 3.5, -2.5, Double.NaN, 1e300, -1e300, 5e-324, -0.0);
        assertConverts(d, DataType.INT, 2, 4, 0xFFFFFFFEL, 0, 0x7FFFFFFFL, 0x80000000L, 0, 0);
        assertConverts(d, DataType.UBYTE, 2, 4, 0, 0, 255, 0, 0, 0);
        assertConverts(d, DataType.UINT64, 2, 4, 0, 0, -1, 0, 0, 0);
        assertConverts(d, DataType.FLOAT, 0x40200000L, 0x40600000L, 0xC0200000L, 0x7FC00000L, 0x7F800000L, 0xFF800000L, 0, 0x80000000L);
        Words b = Words.make(DataType.BYTE, 1);
        b.set(0, 255);
        assertConverts(b, DataType.UINT64, -1);
        Words u = Words.make(DataType.UINT64, 1);
        u.set(0, -1);
        assertConverts(u, DataType.FLOAT, Float.floatToRawIntBits(0x1p64f));
    }

    private static void assertConverts(Words from, DataType type, long... expected) throws Nc3zException {
        Words out = Num.convert(from, type);
        for (int i = 0; i < expected.length; i++) assertEquals(from.type + " to " + type + " " + i, expected[i], out.get(i));
    }

    @Test
    public void chainsDecodeOrAreNamed() throws IOException {
        int decoded = 0;
        for (String file : new String[] {"chains.json", "filters.json"}) {
            for (Object o : vectors(file)) {
                Map<String, Object> v = Json.object(o);
                boolean chains = file.equals("chains.json");
                List<Object> objects = Json.list(v.get(chains ? "chain" : "objects"));
                boolean known = objects.stream().allMatch(s -> KNOWN.contains(Json.object(s).get("id")));
                byte[] payload = bytes(v.get(chains ? "payload" : "bytes"));
                String what = file + " " + Json.text(objects);
                try {
                    Chain chain = Chain.table(Arrays.asList((Object) objects), what, 1).get(0);
                    chain.needKnown(what);
                    if (!chains) continue;
                    int from = 0;
                    if (chain.base) {
                        Bytes in = new Bytes(payload, what);
                        new Archive.Older(in);
                        from = in.at;
                    }
                    int length = (int) (long) (Long) v.get("length");
                    byte[] out = chain.num ? Num.decode(payload, from, payload.length, DataType.BYTE, length, new long[3], null, null).bigEndian()
                        : chain.decode(payload, from, payload.length - from, length, what).clone();
                    byte[] older = chain.base ? bytes(v.get("older")) : new byte[0];
                    for (int i = 0; i < Math.min(out.length, older.length); i++) out[i] ^= older[i];
                    assertTrue(what + " is " + v.get("refused"), v.get("decoded") != null);
                    assertArrayEquals(what, bytes(v.get("decoded")), out);
                    decoded++;
                } catch (Nc3zException e) {
                    boolean unknown = e.kind() == Nc3zException.Kind.UNSUPPORTED;
                    assertTrue(what + ": " + e.getMessage(), !known || unknown == "unknown".equals(v.get("refused")) && v.get("decoded") == null);
                    assertTrue(e.getMessage(), e.getMessage().contains(what) || e.getMessage().contains("older tile") || e.getMessage().startsWith("index entry"));
                }
            }
        }
        assertTrue(decoded + " chains", decoded >= 5);
    }

    @Test
    public void digestsAreThoseOfTheText() throws IOException {
        int count = 0;
        for (Object o : vectors("digest.json")) {
            Map<String, Object> v = Json.object(o);
            byte[] file = v.get("file") == null ? repeated(Json.object(v.get("parts"))) : bytes(v.get("file"));
            Digest digest = Digest.of(ClassicFile.open(Source.of(file)));
            String what = (String) v.get("what");
            assertEquals(what, v.get("content"), Bytes.hex(digest.file()));
            List<Object> own = Json.list(v.get("variables"));
            for (int i = 0; i < own.size(); i++) assertEquals(what, own.get(i), Bytes.hex(digest.variable(i)));
            count++;
        }
        assertTrue(count >= 8);
    }

    private static byte[] repeated(Map<String, Object> parts) {
        byte[] begin = bytes(parts.get("begin")), period = bytes(parts.get("period"));
        byte[] out = Arrays.copyOf(begin, (int) (long) (Long) parts.get("length"));
        for (int i = begin.length; i < out.length; i++) out[i] = period[(i - begin.length) % period.length];
        return out;
    }

    @Test
    public void proofsProveWhatTheySay() throws IOException {
        int count = 0;
        for (Object o : vectors("proof.json")) {
            Map<String, Object> v = Json.object(o);
            boolean proven;
            try {
                proven = !Proof.check(bytes(v.get("slice")), Json.text(v.get("proof")).getBytes(StandardCharsets.UTF_8), (String) v.get("root")).isEmpty();
            } catch (Nc3zException e) {
                proven = false;
            }
            assertEquals((String) v.get("what"), v.get("proven"), proven);
            count++;
        }
        assertTrue(count >= 9);
    }

    @Test
    public void shortAndLongFormAreTheSameArchive() throws IOException {
        for (Object o : vectors("archives.json")) {
            Map<String, Object> v = Json.object(o);
            byte[] archive = bytes(v.get("archive"));
            try (Archive opened = Archive.open(Source.of(archive))) {
                java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
                opened.restore(out);
                assertArrayEquals(bytes(v.get("original")), out.toByteArray());
            }
        }
        byte[] shortForm = bytes(Json.object(vectors("archives.json").get(0)).get("archive"));
        byte[] longForm = bytes(Json.object(vectors("archives.json").get(1)).get("archive"));
        assertArrayEquals(longForm, new ShortForm(Source.of(shortForm)).expand());
    }
}
