package org.nc3z;

import static org.nc3z.Nc3zException.limit;
import static org.nc3z.Nc3zException.need;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** Packed heads and sections (spec/archive.md, section 1): frames with the dictionaries of the format, and numbers apart. */
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

    /** A packed head: one frame, or one with numbers apart. */
    static byte[] head(byte[] data, String what, int most) throws Nc3zException {
        if (!Bytes.starts(data, 0, 0xB1, 'N', 'C', 'h')) return unpack(data, 0, data.length, null, what, most);
        Bytes in = new Bytes(data, 4, data.length, what);
        int frame = in.count(Integer.MAX_VALUE), from = in.skip(frame);
        Bytes text = new Bytes(unpack(data, from, in.at, null, what, most), what);
        int kinds = text.count(11);
        DataType[] types = new DataType[kinds];
        int[] stored = new int[kinds];
        for (int i = 0; i < kinds; i++) {
            int code = text.u8();
            need(code >= 1 && code <= 11 && (i == 0 || code > types[i - 1].code()), what + ": types of numbers apart");
            types[i] = DataType.of(code);
            stored[i] = text.count(Integer.MAX_VALUE);
        }
        int runs = text.count(kinds == 0 ? 0 : Math.min(1 << 20, text.left()));
        int[][] columns = new int[3][runs];
        for (int[] column : columns) {
            for (int i = 0; i < runs; i++) column[i] = text.count(Integer.MAX_VALUE);
        }
        long[] elements = new long[kinds];
        long bytes = 0;
        for (int i = 0; i < runs; i++) {
            need(columns[1][i] < kinds, what + ": a kind of numbers that does not exist");
            elements[columns[1][i]] += columns[2][i];
            bytes += (long) columns[2][i] * types[columns[1][i]].size();
            need(bytes <= 1 << 24, what + ": too many numbers apart");
        }
        byte[][] values = new byte[kinds][];
        for (int i = 0; i < kinds; i++) {
            int at = in.skip(stored[i]), n = (int) elements[i];
            values[i] = Num.decode(data, at, in.at, types[i], n, Num.geometry(new long[] {n}), null, null).bigEndian();
        }
        in.finish();
        if (bytes + text.left() > most) throw limit(what + ": " + (bytes + text.left()) + " bytes decoded, at most " + most + " expected");
        byte[] out = new byte[(int) bytes + text.left()];
        int[] used = new int[kinds];
        int at = 0;
        for (int i = 0; i < runs; i++) {
            int skip = columns[0][i];
            System.arraycopy(text.data, text.skip(skip), out, at, skip);
            at += skip;
            int kind = columns[1][i], n = columns[2][i] * types[kind].size();
            System.arraycopy(values[kind], used[kind], out, at, n);
            used[kind] += n;
            at += n;
        }
        System.arraycopy(text.data, text.at, out, at, text.left());
        return out;
    }
}
