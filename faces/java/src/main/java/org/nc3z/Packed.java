package org.nc3z;

import static org.nc3z.Nc3zException.limit;
import static org.nc3z.Nc3zException.need;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** Packed heads and sections (spec/archive.md, section 1): frames with the dictionaries of the format. */
final class Packed {
    private static final Map<Long, Zstd.Dictionary> DICTIONARIES = new HashMap<>();

    private Packed() {}

    /** A frame that may continue older bytes; {@code before} is then not null. */
    static byte[] unpack(byte[] data, int from, int to, Zstd.Dictionary before, String what, int most) throws Nc3zException {
        long length = Zstd.contentSize(data, from, to - from);
        need(length >= 0, what + ": a frame without its content size");
        if (length > most) throw limit(what + ": " + length + " bytes decoded, at most " + most + " expected");
        long id = Zstd.dictionaryId(data, from, to - from);
        need(before == null || id == 0, what + ": a frame with dictionary " + id);
        return Zstd.decode(data, from, to - from, (int) length, before == null ? formatDictionary(id) : before);
    }

    /** The same of any content: a frame with its content size, with a dictionary of the format or without. */
    static byte[] unpack(byte[] data, int from, int to, String what, int most) throws Nc3zException {
        return unpack(data, from, to, null, what, most);
    }

    private static Zstd.Dictionary formatDictionary(long id) throws Nc3zException {
        if (id == 0) return null;
        String name = id == 50017 ? "head.dict" : id == 50018 ? "argo.dict" : null;
        need(name != null, "zstd frame: dictionary " + id + ", expected none, 50017 or 50018");
        synchronized (DICTIONARIES) {
            Zstd.Dictionary out = DICTIONARIES.get(id);
            if (out == null) {
                try (java.io.InputStream in = Packed.class.getResourceAsStream(name)) {
                    java.io.ByteArrayOutputStream all = new java.io.ByteArrayOutputStream();
                    byte[] piece = new byte[8192];
                    for (int n; (n = in.read(piece)) > 0;) all.write(piece, 0, n);
                    out = Zstd.Dictionary.formatted(all.toByteArray());
                } catch (IOException e) {
                    throw new IllegalStateException("the dictionary " + name + " in this jar cannot be read", e);
                }
                DICTIONARIES.put(id, out);
            }
            return out;
        }
    }
}
