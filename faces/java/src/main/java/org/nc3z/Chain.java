package org.nc3z;

import static org.nc3z.Nc3zException.corrupt;
import static org.nc3z.Nc3zException.need;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.*;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.tukaani.xz.LZMA2InputStream;

/** One chain of the chain table (spec/chains.md): filters and codecs in the order of writing. */
final class Chain {
    private static final int MAX_STEPS = 32;
    private static final int MAX_CODECS = 4;
    /** Filters that keep the bytes as they are: they say how values were rounded. */
    private static final List<String> ROUNDED = Arrays.asList("bitround", "bitgroom", "granularbr", "quantize");
    private static final List<String> CODECS = Arrays.asList("zstd", "zlib", "lzma");

    private final List<Object> objects;
    private final String[] ids;
    private final long[] sizes;
    /** True if the first object is nc3z.base. */
    final boolean base;
    /** True if the codec is nc3z.num. */
    final boolean num;
    /** The number of the definition, or -1. */
    final long dictionary;
    /** Whether there is a key `ref` at all, and its number, or -1. */
    final boolean refers;
    final long reference;
    /** What this reader does not know of it, or null. */
    private final String unknown;

    private Chain(List<Object> objects) {
        this.objects = objects;
        int n = objects.size();
        ids = new String[n];
        sizes = new long[n];
        boolean withReference = false;
        for (int i = 0; i < n; i++) {
            ids[i] = (String) Json.object(objects.get(i)).get("id");
            withReference |= ids[i].equals("nc3z.num") && Json.object(objects.get(i)).containsKey("ref");
        }
        refers = withReference;
        base = n > 0 && ids[0].equals("nc3z.base");
        int first = base ? 1 : 0;
        num = n > first && ids[first].equals("nc3z.num");
        long dict = -1, ref = -1;
        String why = n > MAX_STEPS ? "more than " + MAX_STEPS + " objects" : null;
        if (base && Json.object(objects.get(0)).size() > 1) why = Json.text(objects.get(0));
        if (num) {
            Map<String, Object> o = Json.object(objects.get(first));
            Long d = Json.integer(o, "dict", 0, Long.MAX_VALUE);
            Long r = Json.integer(o, "ref", 1, 0xFFFFFFFFL);
            int keys = 1 + (o.containsKey("dict") ? 1 : 0) + (o.containsKey("ref") ? 1 : 0);
            if (n > first + 1 || keys != o.size() || o.containsKey("dict") && d == null || o.containsKey("ref") && r == null || base && keys > 1) {
                why = Json.text(o);
            }
            dict = d == null ? -1 : d;
            ref = r == null ? -1 : r;
        } else {
            int codecs = 0;
            for (int i = first; i < n && why == null; i++) {
                boolean codec = CODECS.contains(ids[i]);
                if (!known(Json.object(objects.get(i)), i) || codecs > 0 && ids[i].equals("lzma")) why = Json.text(objects.get(i));
                codecs += codec ? 1 : 0;
            }
            if (codecs > MAX_CODECS) why = "more than " + MAX_CODECS + " codecs";
        }
        dictionary = dict;
        reference = ref;
        unknown = why;
    }

    private boolean known(Map<String, Object> o, int i) {
        switch (ids[i]) {
            case "shuffle":
                Long size = Json.integer(o, "elementsize", 1, 0xFFFFFFFFL);
                sizes[i] = size == null ? 0 : size;
                return size != null && o.size() == 2;
            case "zstd": return o.size() == 2 && Json.integer(o, "level", Integer.MIN_VALUE, Integer.MAX_VALUE) != null;
            case "zlib": return o.size() == 2 && Json.integer(o, "level", 0, 9) != null;
            case "lzma":
                List<Object> filters = Json.list(o.get("filters"));
                Map<String, Object> f = filters == null || filters.size() != 1 ? null : Json.object(filters.get(0));
                if (f == null || f.size() != 5 || o.size() != 5 || !o.containsKey("preset") || o.get("preset") != null
                        || Json.integer(o, "format", 3, 3) == null || Json.integer(o, "check", -1, -1) == null || Json.integer(f, "id", 33, 33) == null) {
                    return false;
                }
                Long lc = Json.integer(f, "lc", 0, 4);
                Long lp = Json.integer(f, "lp", 0, 4);
                return lc != null && lp != null && lc + lp <= 4 && Json.integer(f, "pb", 0, 4) != null && Json.integer(f, "dict_size", 1 << 12, 1 << 26) != null;
            case "quantize":
                return o.size() == 4 && Json.integer(o, "digits", 0, 30) != null && ("|>f4|>f8|<f4|<f8|".contains("|" + o.get("dtype") + "|")) && o.get("dtype").equals(o.get("astype"));
            case "bitround": return o.size() == 2 && Json.integer(o, "keepbits", 1, 52) != null;
            default: return ROUNDED.contains(ids[i]) && o.size() == 2 && Json.integer(o, "nsd", 1, 15) != null;
        }
    }

    static List<Chain> table(Object json, String what, int most) throws Nc3zException {
        List<Object> list = Json.list(json);
        need(list != null, what + ": not an array of chains");
        if (list.size() > most) throw Nc3zException.limit(what + ": " + list.size() + " chains");
        List<Chain> out = new ArrayList<>();
        for (Object chain : list) {
            List<Object> objects = Json.list(chain);
            need(objects != null, what + ": a chain that is not an array");
            for (Object o : objects) {
                Map<String, Object> object = Json.object(o);
                need(object != null && object.get("id") instanceof String, what + ": an object without id");
            }
            out.add(new Chain(objects));
        }
        return out;
    }

    boolean isEmpty() { return objects.isEmpty(); }

    void needKnown(String what) throws Nc3zException {
        if (unknown != null) throw Nc3zException.unsupported(what + ": its chain " + Json.text(objects) + " is not known to this reader: " + unknown);
    }

    Nc3zException unsupported(String what, String why) {
        return Nc3zException.unsupported(what + ": " + why + ": " + Json.text(objects));
    }

    /** Undoes a byte chain, but for nc3z.base, which the caller has undone. */
    byte[] decode(byte[] data, int from, int count, int length, String what) throws Nc3zException {
        int begin = base ? 1 : 0, n = ids.length, first = begin;
        while (first < n && !CODECS.contains(ids[first])) first++;
        long[] most = new long[n];
        long size = length;
        for (int i = begin; i < n; i++) {
            most[i] = Math.min(size, Integer.MAX_VALUE - 64);
            size += CODECS.contains(ids[i]) ? size / 4 + 65536 : 0;
        }
        if (first == n) need(count == length, what + ": " + count + " bytes stored, expected " + length);
        try {
            for (int i = n - 1; i >= begin; i--) {
                boolean exact = i <= first;
                byte[] out;
                switch (ids[i]) {
                    case "shuffle": out = Bytes.unshuffle(data, from, count, sizes[i]); break;
                    case "zstd": out = Zstd.decode(data, from, count, exact ? (int) most[i] : 0, (int) most[i], null); break;
                    case "zlib": out = inflate(data, from, count, exact ? (int) most[i] : -1, (int) most[i]); break;
                    case "lzma": out = lzma(data, from, count, (int) most[i]); break;
                    default: continue;
                }
                data = out;
                from = 0;
                count = out.length;
            }
        } catch (Nc3zException e) {
            throw new Nc3zException(e.kind(), what + ": " + e.getMessage());
        }
        need(count == length, what + ": " + count + " bytes decoded, expected " + length);
        return from == 0 && data.length == count ? data : Arrays.copyOfRange(data, from, from + count);
    }

    /** One zlib stream of {@code exact} bytes, or of at most {@code most} where that is negative. */
    private static byte[] inflate(byte[] data, int from, int count, int exact, int most) throws Nc3zException {
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(data, from, count);
            byte[] out = Memory.bytes(exact >= 0 ? exact + 1L : Math.min(most + 1L, 1 << 16));
            int made = 0;
            while (!inflater.finished()) {
                if (made == out.length) {
                    need(made <= most && exact < 0, "more than " + (exact >= 0 ? exact : most) + " bytes decoded");
                    byte[] larger = Memory.bytes(Math.min(most + 1L, 2L * made));
                    System.arraycopy(out, 0, larger, 0, made);
                    out = larger;
                }
                int n = inflater.inflate(out, made, out.length - made);
                need(n > 0 || inflater.finished(), "a zlib stream that ends early");
                made += n;
            }
            need(made <= most && (exact < 0 || made == exact), made + " bytes decoded, expected " + (exact >= 0 ? exact : most));
            need(inflater.getRemaining() == 0, inflater.getRemaining() + " bytes behind a zlib stream");
            return made == out.length ? out : Arrays.copyOf(out, made);
        } catch (DataFormatException e) {
            throw corrupt("zlib stream: " + e.getMessage());
        } finally {
            inflater.end();
        }
    }

    static byte[] lzma(byte[] data, int from, int count, int length) throws Nc3zException {
        ByteArrayInputStream in = new ByteArrayInputStream(data, from, count);
        byte[] out = Memory.bytes(length);
        try (LZMA2InputStream stream = new LZMA2InputStream(in, Math.max(length, 4096))) {
            int made = 0;
            while (made < length) {
                int n = stream.read(out, made, length - made);
                need(n > 0, "an LZMA2 stream of " + made + " bytes, expected " + length);
                made += n;
            }
            need(stream.read() < 0 && in.available() == 0, "an LZMA2 stream has another length");
            return out;
        } catch (Nc3zException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            throw corrupt("LZMA2 stream: " + e.getMessage());
        }
    }
}
