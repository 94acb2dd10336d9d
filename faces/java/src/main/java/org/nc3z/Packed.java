package org.nc3z;

import static org.nc3z.Nc3zException.limit;
import static org.nc3z.Nc3zException.need;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** Packed heads and sections (spec/archive.md, section 1): frames with the dictionaries of the format, or LZMA2 streams. */
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

    /** The same of any content: a frame with its content size, with a dictionary of the format or without, or an LZMA2 stream. */
    static byte[] unpack(byte[] data, int from, int to, String what, int most) throws Nc3zException {
        int first = from < to ? data[from] & 255 : 0;
        if (first != 1 && first < 0xE0) return unpack(data, from, to, null, what, most);
        long length = lzmaLength(data, from, to, what);
        if (length > most) throw limit(what + ": " + length + " bytes decoded, at most " + most + " expected");
        return Chain.lzma(data, from, to - from, (int) length);
    }

    /** The length that the chunks of an LZMA2 stream say (spec/chains.md, section 2). */
    private static long lzmaLength(byte[] data, int from, int to, String what) throws Nc3zException {
        long total = 0;
        for (long at = from; ; ) {
            need(at < to, what + ": a cut LZMA2 stream");
            int control = data[(int) at] & 255;
            if (control == 0) {
                need(at + 1 == to, what + ": bytes behind an LZMA2 stream");
                return total;
            }
            boolean stored = control < 3;
            need(stored || control >= 128, what + ": an LZMA2 chunk of kind " + control);
            need(at + (stored ? 3 : 5) <= to, what + ": a cut LZMA2 stream");
            long length = ((data[(int) at + 1] & 255) << 8 | data[(int) at + 2] & 255) + 1;
            total += length + (stored ? 0 : (long) (control & 31) << 16);
            if (stored) at += 3 + length;
            else at += 6 + ((control >> 5 & 3) >= 2 ? 1 : 0) + ((data[(int) at + 3] & 255) << 8 | data[(int) at + 4] & 255);
        }
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
