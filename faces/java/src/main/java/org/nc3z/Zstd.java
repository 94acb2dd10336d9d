package org.nc3z;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Decodes one zstd frame (RFC 8878), with a dictionary or without. A dictionary is formatted (section 5) or raw content. Not for several
 * threads at the same time; cheap to make.
 */
final class Zstd {
    private static final int MAX_WINDOW = 1 << 27;
    private static final int MAX_BLOCK = 1 << 17;
    /** Bytes that may be written or read behind the end of a buffer. */
    private static final int SLACK = 32;

    private static final int[] LL_BASE = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512,
        1024, 2048, 4096, 8192, 16384, 32768, 65536};
    private static final int[] LL_BITS = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    private static final int[] ML_BASE = new int[53];
    private static final int[] ML_BITS = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3,
        3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    private static final short[] LL_DEFAULT = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
    private static final short[] ML_DEFAULT = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
    private static final short[] OF_DEFAULT = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};
    private static final Fse LL_PREDEFINED, ML_PREDEFINED, OF_PREDEFINED;

    static {
        for (int i = 0, base = 3; i < 53; i++) {
            ML_BASE[i] = base;
            base += 1 << ML_BITS[i];
        }
        try {
            LL_PREDEFINED = new Fse(LL_DEFAULT, LL_DEFAULT.length, 6);
            ML_PREDEFINED = new Fse(ML_DEFAULT, ML_DEFAULT.length, 6);
            OF_PREDEFINED = new Fse(OF_DEFAULT, OF_DEFAULT.length, 5);
        } catch (Nc3zException e) {
            throw new AssertionError(e);
        }
    }

    /** A dictionary, ready for use. */
    static final class Dictionary {
        final byte[] content;
        final long id;
        private int[] huffman;
        private int huffmanBits;
        private Fse ll, of, ml;
        private final int[] repeats = {1, 4, 8};

        private Dictionary(byte[] content, long id) {
            this.content = content;
            this.id = id;
        }

        static Dictionary raw(byte[] content) { return new Dictionary(content, 0); }

        static Dictionary formatted(byte[] data) throws Nc3zException {
            if (data.length < 8 || Bytes.i32(data, 0) != 0xEC30A437) throw bad("not a dictionary");
            Zstd z = new Zstd();
            z.load(data, 0, data.length);
            int at = z.huffmanTable(8, data.length);
            Fse[] tables = new Fse[3];
            int[] most = {31, 52, 35};
            int[] log = {8, 9, 9};
            for (int i = 0; i < 3; i++) {
                at = z.fseHeader(at, data.length, most[i], log[i]);
                tables[i] = z.fseRead;
            }
            if (data.length - at < 12) throw bad("a dictionary that ends early");
            Dictionary d = new Dictionary(Arrays.copyOfRange(data, at + 12, data.length), Bytes.i32(data, 4) & 0xFFFFFFFFL);
            for (int i = 0; i < 3; i++) {
                d.repeats[i] = Bytes.i32(data, at + 4 * i);
                if (d.repeats[i] <= 0 || d.repeats[i] > d.content.length) throw bad("a dictionary with a repeated offset of " + d.repeats[i]);
            }
            d.huffman = z.huffman;
            d.huffmanBits = z.huffmanBits;
            d.of = tables[0];
            d.ml = tables[1];
            d.ll = tables[2];
            return d;
        }
    }

    /** An entropy table: symbol, bits to read and base of the next state of each state, in one int each. */
    private static final class Fse {
        final int log;
        final int[] table;

        Fse(int symbol) {
            log = 0;
            table = new int[] {symbol};
        }

        /** Bits 0 to 7 the symbol, 8 to 15 the number of bits, 16 to 31 the base. */
        Fse(short[] counts, int symbols, int log) throws Nc3zException {
            this.log = log;
            int size = 1 << log;
            table = new int[size];
            int[] next = new int[symbols];
            byte[] symbol = new byte[size];
            int high = size;
            for (int s = 0; s < symbols; s++) {
                next[s] = counts[s];
                if (counts[s] == -1) {
                    symbol[--high] = (byte) s;
                    next[s] = 1;
                }
            }
            int step = (size >> 1) + (size >> 3) + 3, at = 0;
            for (int s = 0; s < symbols; s++) {
                for (int i = 0; i < counts[s]; i++) {
                    symbol[at] = (byte) s;
                    do {
                        at = at + step & size - 1;
                    } while (at >= high);
                }
            }
            if (at != 0) throw bad("an entropy table that is not filled");
            for (int i = 0; i < size; i++) {
                int x = next[symbol[i] & 255]++, bits = log - (31 - Integer.numberOfLeadingZeros(x));
                table[i] = symbol[i] & 255 | bits << 8 | (x << bits) - size << 16;
            }
        }
    }

    private byte[] in;
    private ByteBuffer words;
    private byte[] out;
    private ByteBuffer outWords;
    /** Where the frame's own bytes begin in {@code out}: the dictionary's content precedes them. */
    private int begin, outAt, limit, blockMost;
    private long declared;
    private int frameEnd;

    private int[] huffman;
    private int huffmanBits;
    private Fse ll, of, ml, fseRead;
    private final int[] repeats = new int[3];
    private final byte[] literals = new byte[MAX_BLOCK + SLACK];
    private final ByteBuffer literalWords = Bytes.little(literals);
    private int literalCount;
    private final byte[] weights = new byte[256];

    private static Nc3zException bad(String why) { return Nc3zException.corrupt("zstd frame: " + why); }

    /** What a frame's header says of its content's size; -1 if nothing. */
    static long contentSize(byte[] data, int from, int count) throws Nc3zException {
        Zstd z = new Zstd();
        z.load(data, from, count);
        z.header(null);
        return z.declared;
    }

    /** The number of the dictionary that a frame's header names, or 0. */
    static long dictionaryId(byte[] data, int from, int count) throws Nc3zException {
        Zstd z = new Zstd();
        z.load(data, from, count);
        z.header(null);
        return z.dictionary;
    }

    /** Decodes exactly one frame that fills its place, of exactly {@code length} bytes. */
    static byte[] decode(byte[] data, int from, int count, int length, Dictionary dictionary) throws Nc3zException {
        return decode(data, from, count, length, length, dictionary);
    }

    /** The same of {@code low} to {@code high} bytes. */
    static byte[] decode(byte[] data, int from, int count, int low, int high, Dictionary dictionary) throws Nc3zException {
        Zstd z = new Zstd();
        z.load(data, from, count);
        byte[] out = z.frame(low, high, dictionary);
        if (z.frameEnd != count) throw bad((count - z.frameEnd) + " bytes behind its end");
        return out;
    }

    private void load(byte[] data, int from, int count) {
        in = new byte[count + SLACK];
        System.arraycopy(data, from, in, 0, count);
        words = Bytes.little(in);
        inEnd = count;
    }

    private int inEnd;
    private long dictionary;
    private boolean checksum;

    private void room(int at, int n) throws Nc3zException {
        if (n < 0 || n > inEnd - at) throw bad("ends early");
    }

    /** Gives where the blocks begin. */
    private int header(Dictionary with) throws Nc3zException {
        room(0, 6);
        if (words.getInt(0) != 0xFD2FB528) throw bad("not one");
        int descriptor = in[4] & 255;
        boolean single = (descriptor & 32) != 0;
        if ((descriptor & 8) != 0) throw bad("a reserved bit is set");
        checksum = (descriptor & 4) != 0;
        int at = 5;
        long window = 0;
        if (!single) {
            int b = in[at++] & 255;
            window = (1L << 10 + (b >> 3)) + (1L << 10 + (b >> 3)) / 8 * (b & 7);
        }
        int ids = descriptor & 3;
        ids = ids == 3 ? 4 : ids;
        int sizes = descriptor >> 6;
        sizes = sizes == 0 ? single ? 1 : 0 : 1 << sizes;
        room(at, ids + sizes);
        long id = words.getInt(at) & (1L << 8 * ids) - 1;
        at += ids;
        declared = sizes == 0 ? -1 : sizes == 8 ? words.getLong(at) : words.getLong(at) & (1L << 8 * sizes) - 1;
        if (sizes == 2) declared += 256;
        if (sizes == 8 && declared < 0) throw bad("a content of 2^63 bytes or more");
        at += sizes;
        if (single) window = declared;
        if (!single && window > MAX_WINDOW) throw Nc3zException.limit("zstd frame: a window of " + window + " bytes exceeds " + MAX_WINDOW);
        dictionary = id;
        if (with != null && id != 0 && with.id != id) throw bad("it needs dictionary " + id + ", found " + with.id);
        blockMost = (int) Math.min(MAX_BLOCK, window);
        return at;
    }

    private byte[] frame(int low, int high, Dictionary with) throws Nc3zException {
        int at = header(with);
        if (with == null && dictionary != 0) throw bad("it needs dictionary " + dictionary);
        if (declared >= 0 && (declared < low || declared > high)) {
            throw bad(declared + " bytes decoded, expected " + (low == high ? "" + low : low + " to " + high));
        }
        limit = declared >= 0 ? (int) declared : high;
        begin = with == null ? 0 : with.content.length;
        // Without a declared length the buffer grows with what is decoded.
        int room = declared >= 0 || low == high ? limit : Math.min(limit, 1 << 16);
        out = Memory.bytes((long) begin + room + SLACK);
        outWords = Bytes.little(out);
        outAt = begin;
        repeats[0] = 1;
        repeats[1] = 4;
        repeats[2] = 8;
        if (with != null) {
            System.arraycopy(with.content, 0, out, 0, begin);
            System.arraycopy(with.repeats, 0, repeats, 0, 3);
            huffman = with.huffman;
            huffmanBits = with.huffmanBits;
            ll = with.ll;
            of = with.of;
            ml = with.ml;
        }
        boolean last;
        do {
            room(at, 3);
            int block = words.getInt(at) & 0xFFFFFF;
            at += 3;
            last = (block & 1) != 0;
            int size = block >> 3, type = block >> 1 & 3;
            if (type == 3 || size > blockMost) throw bad("a block of type " + type + " and " + size + " bytes");
            grow(type == 2 ? blockMost : size);
            if (type == 1) {
                room(at, 1);
                space(size);
                Arrays.fill(out, outAt, outAt + size, in[at]);
                outAt += size;
                at++;
                continue;
            }
            room(at, size);
            if (type == 0) {
                space(size);
                System.arraycopy(in, at, out, outAt, size);
                outAt += size;
            } else {
                block(at, at + size);
            }
            at += size;
        } while (!last);
        int made = outAt - begin;
        if (made < low || declared >= 0 && made != declared) throw bad(made + " bytes decoded, expected " + (declared >= 0 ? declared : low));
        if (checksum) {
            room(at, 4);
            if ((int) xxh64(out, begin, made) != words.getInt(at)) throw bad("checksum");
            at += 4;
        }
        frameEnd = at;
        return begin == 0 && out.length == made ? out : Arrays.copyOfRange(out, begin, outAt);
    }

    private void grow(int more) throws Nc3zException {
        long want = (long) outAt + more + SLACK, most = (long) begin + limit + SLACK;
        if (want > out.length && out.length < most) {
            byte[] larger = Memory.bytes(Math.min(most, Math.max(want, 2L * out.length)));
            System.arraycopy(out, 0, larger, 0, outAt);
            out = larger;
            outWords = Bytes.little(out);
        }
    }

    private void space(int n) throws Nc3zException {
        if (n > limit - (outAt - begin)) throw bad("more than " + limit + " bytes decoded");
    }

    private void block(int at, int end) throws Nc3zException {
        int from = outAt;
        at = literals(at, end);
        if (at >= end) throw bad("a block ends early");
        int count = in[at++] & 255;
        if (count >= 128) {
            if (count < 255) {
                count = (count - 128 << 8) + (at < end ? in[at] & 255 : 0);
                at++;
            } else {
                count = at + 1 < end ? Bytes.u16(in, at) + 0x7F00 : 0;
                at += 2;
            }
            if (at > end) throw bad("a block ends early");
        }
        if (count == 0) {
            if (at != end) throw bad("bytes behind a block's literals");
            space(literalCount);
            System.arraycopy(literals, 0, out, outAt, literalCount);
            outAt += literalCount;
        } else {
            if (at >= end) throw bad("a block ends early");
            int modes = in[at++] & 255;
            if ((modes & 3) != 0) throw bad("a reserved bit of a block is set");
            at = table(at, end, modes >> 6, LL_PREDEFINED, ll, 35, 9);
            ll = fseRead;
            at = table(at, end, modes >> 4 & 3, OF_PREDEFINED, of, 31, 8);
            of = fseRead;
            at = table(at, end, modes >> 2 & 3, ML_PREDEFINED, ml, 52, 9);
            ml = fseRead;
            sequences(count, at, end);
        }
        if (outAt - from > blockMost) throw bad("a block of " + (outAt - from) + " bytes, at most " + blockMost + " expected");
    }

    private int table(int at, int end, int mode, Fse predefined, Fse before, int most, int log) throws Nc3zException {
        if (mode == 0) {
            fseRead = predefined;
            return at;
        }
        if (mode == 1) {
            if (at >= end || (in[at] & 255) > most) throw bad("a code beyond its table");
            fseRead = new Fse(in[at] & 255);
            return at + 1;
        }
        if (mode == 2) return fseHeader(at, end, most, log);
        if (before == null) throw bad("a table that was not given before");
        fseRead = before;
        return at;
    }

    /** Reads a table's counts into {@code fseRead}; gives where they end. */
    private int fseHeader(int at, int end, int most, int largest) throws Nc3zException {
        if (at >= end) throw bad("a table ends early");
        int log = (in[at] & 15) + 5;
        if (log > largest) throw bad("a table of 2^" + log + " states");
        short[] counts = new short[most + 1];
        long bit = 8L * at + 4;
        int left = 1 << log, symbol = 0;
        while (left > 0) {
            if (symbol > most || bit > 8L * end) throw bad("counts of a table");
            int bits = 32 - Integer.numberOfLeadingZeros(left + 1), value = word(bit) & (1 << bits) - 1;
            int low = (1 << bits - 1) - 1, threshold = (1 << bits) - 1 - (left + 1);
            if ((value & low) < threshold) {
                value &= low;
                bit += bits - 1;
            } else {
                if (value > low) value -= threshold;
                bit += bits;
            }
            counts[symbol++] = (short) (value - 1);
            left -= Math.abs(value - 1);
            if (value == 1) {
                int zeros;
                do {
                    zeros = word(bit) & 3;
                    bit += 2;
                    symbol += zeros;
                    if (symbol > most + 1 || bit > 8L * end) throw bad("counts of a table");
                } while (zeros == 3);
            }
        }
        int stop = (int) (bit + 7 >> 3);
        if (left != 0 || stop > end) throw bad("counts of a table");
        fseRead = new Fse(counts, symbol, log);
        return stop;
    }

    private int word(long bit) { return (int) (words.getLong((int) (bit >> 3)) >>> (bit & 7)); }

    private int literals(int at, int end) throws Nc3zException {
        room(at, 1);
        int head = in[at] & 255, type = head & 3, form = head >> 2 & 3;
        if (type < 2) {
            int bytes = form == 1 ? 2 : form == 3 ? 3 : 1;
            int size = (words.getInt(at) & (1 << 8 * bytes) - 1) >> (bytes == 1 ? 3 : 4);
            at += bytes;
            if (size > MAX_BLOCK || at + (type == 0 ? size : 1) > end) throw bad("literals of " + size + " bytes");
            if (type == 0) System.arraycopy(in, at, literals, 0, size);
            else Arrays.fill(literals, 0, size, in[at]);
            literalCount = size;
            return at + (type == 0 ? size : 1);
        }
        int bytes = form < 2 ? 3 : form + 2, bits = form < 2 ? 10 : form == 2 ? 14 : 18;
        if (at + bytes > end) throw bad("literals end early");
        long sizes = words.getLong(at);
        int size = (int) (sizes >> 4) & (1 << bits) - 1, stored = (int) (sizes >> 4 + bits) & (1 << bits) - 1;
        at += bytes;
        if (size > MAX_BLOCK || stored > end - at) throw bad("literals of " + size + " bytes");
        int stop = at + stored;
        if (type == 2) {
            at = huffmanTable(at, stop);
        } else if (huffman == null) {
            throw bad("literals by a table that was not given before");
        }
        literalCount = size;
        if (form == 0) {
            stream(at, stop, 0, size);
        } else {
            if (stop - at < 10 || size < 6) throw bad("four streams of literals in " + (stop - at) + " bytes");
            int quarter = (size + 3) / 4;
            if (3 * quarter > size) throw bad("four streams of literals of " + size + " bytes");
            int from = at + 6, first = from + Bytes.u16(in, at), second = first + Bytes.u16(in, at + 2);
            int third = second + Bytes.u16(in, at + 4);
            if (third >= stop) throw bad("streams of literals end early");
            streams(new int[] {from, first, second, third, stop}, quarter, size);
        }
        return stop;
    }

    private long lastBit(int from, int to) throws Nc3zException {
        if (to <= from || in[to - 1] == 0) throw bad("a stream of bits without its end mark");
        return 8L * (to - 1) + (31 - Integer.numberOfLeadingZeros(in[to - 1] & 255));
    }

    /** The bits below {@code bit}, as many as an index of the table has; zeros before the stream's first. */
    private int peek(long bit, long first, int bits) {
        long at = bit - bits;
        if (at >= first) return (int) (words.getLong((int) (at >> 3)) >>> (at & 7)) & (1 << bits) - 1;
        int left = (int) (bit - first);
        return left <= 0 ? 0 : ((int) (words.getLong((int) (first >> 3)) >>> (first & 7)) & (1 << left) - 1) << bits - left;
    }

    private void stream(int from, int to, int at, int until) throws Nc3zException {
        finish(from, lastBit(from, to), at, until);
    }

    private void finish(int from, long bit, int at, int until) throws Nc3zException {
        long first = 8L * from;
        int bits = huffmanBits;
        int[] table = huffman;
        while (at < until) {
            int e = table[peek(bit, first, bits)];
            literals[at++] = (byte) e;
            bit -= e >> 8;
        }
        if (bit != first) throw bad("a stream of literals has another length");
    }

    /** Four streams at once: each step takes as many symbols from a stream as 56 bits surely hold. */
    private void streams(int[] from, int quarter, int size) throws Nc3zException {
        ByteBuffer w = words;
        byte[] to = literals;
        int[] table = huffman;
        int bits = huffmanBits, shift = 64 - bits;
        long[] bit = new long[4];
        for (int i = 0; i < 4; i++) bit[i] = lastBit(from[i], from[i + 1]);
        long a = bit[0], b = bit[1], c = bit[2], d = bit[3];
        int at = 0, last = size - 3 * quarter, steps = Math.min(quarter, last) - 3;
        long fa = 8L * from[0] + 64, fb = 8L * from[1] + 64, fc = 8L * from[2] + 64, fd = 8L * from[3] + 64;
        while (at < steps && a >= fa && b >= fb && c >= fc && d >= fd) {
            // the 57 bits or more below the position, highest first
            long va = w.getLong((int) (a + 7 >> 3) - 8) << (int) (-a & 7);
            long vb = w.getLong((int) (b + 7 >> 3) - 8) << (int) (-b & 7);
            long vc = w.getLong((int) (c + 7 >> 3) - 8) << (int) (-c & 7);
            long vd = w.getLong((int) (d + 7 >> 3) - 8) << (int) (-d & 7);
            for (int k = 0; k < 4; k++, at++) {
                int ea = table[(int) (va >>> shift)], eb = table[(int) (vb >>> shift)];
                int ec = table[(int) (vc >>> shift)], ed = table[(int) (vd >>> shift)];
                to[at] = (byte) ea;
                to[at + quarter] = (byte) eb;
                to[at + 2 * quarter] = (byte) ec;
                to[at + 3 * quarter] = (byte) ed;
                va <<= ea >> 8;
                vb <<= eb >> 8;
                vc <<= ec >> 8;
                vd <<= ed >> 8;
                a -= ea >> 8;
                b -= eb >> 8;
                c -= ec >> 8;
                d -= ed >> 8;
            }
        }
        finish(from[0], a, at, quarter);
        finish(from[1], b, at + quarter, 2 * quarter);
        finish(from[2], c, at + 2 * quarter, 3 * quarter);
        finish(from[3], d, at + 3 * quarter, size);
    }

    /** Reads the table of literals; gives where it ends. An entry is the symbol, and its bits from bit 8 on. */
    private int huffmanTable(int at, int end) throws Nc3zException {
        if (at >= end) throw bad("a table of literals ends early");
        int head = in[at++] & 255;
        int count, stop;
        if (head >= 128) {
            count = head - 127;
            stop = at + (count + 1) / 2;
            if (stop > end) throw bad("a table of literals ends early");
            for (int i = 0; i < count; i++) weights[i] = (byte) (i % 2 == 0 ? in[at + i / 2] >> 4 & 15 : in[at + i / 2] & 15);
        } else {
            stop = at + head;
            if (stop > end) throw bad("a table of literals ends early");
            count = fseWeights(at, stop);
        }
        int total = 0;
        for (int i = 0; i < count; i++) {
            if (weights[i] > 11) throw bad("a weight of " + weights[i]);
            total += weights[i] == 0 ? 0 : 1 << weights[i] - 1;
        }
        if (total == 0 || total >= 1 << 11) throw bad("weights of literals");
        int bits = 32 - Integer.numberOfLeadingZeros(total), rest = (1 << bits) - total;
        if (Integer.bitCount(rest) != 1) throw bad("weights of literals");
        weights[count++] = (byte) (32 - Integer.numberOfLeadingZeros(rest));
        int[] table = new int[1 << bits];
        int place = 0;
        for (int weight = 1; weight <= bits; weight++) {
            for (int s = 0; s < count; s++) {
                if (weights[s] == weight) {
                    int n = 1 << weight - 1;
                    Arrays.fill(table, place, place + n, s | bits + 1 - weight << 8);
                    place += n;
                }
            }
        }
        int ones = 0;
        for (int s = 0; s < count; s++) ones += weights[s] == 1 ? 1 : 0;
        if (ones < 2 || ones % 2 != 0) throw bad("weights of literals");
        huffman = table;
        huffmanBits = bits;
        return stop;
    }

    /** Weights by two states that take turns, until the bits are used up. */
    private int fseWeights(int at, int stop) throws Nc3zException {
        int from = fseHeader(at, stop, 255, 6);
        Fse fse = fseRead;
        long first = 8L * from, bit = lastBit(from, stop);
        int[] state = new int[2];
        for (int i = 0; i < 2; i++) {
            state[i] = peek(bit, first, fse.log);
            bit -= fse.log;
        }
        if (bit < first) throw bad("weights of literals end early");
        int count = 0;
        for (int i = 0;; i ^= 1) {
            int e = fse.table[state[i]], bits = e >> 8 & 255;
            if (count >= 254) throw bad("too many weights of literals");
            weights[count++] = (byte) e;
            if (bit - bits < first) {
                // the other state's symbol is the last
                weights[count++] = (byte) fse.table[state[i ^ 1]];
                return count;
            }
            state[i] = (e >>> 16) + peek(bit, first, bits);
            bit -= bits;
        }
    }

    private void sequences(int count, int from, int to) throws Nc3zException {
        ByteBuffer w = words;
        long first = 8L * from, bit = lastBit(from, to);
        int[] lls = ll.table, ofs = of.table, mls = ml.table;
        int stateL = peek(bit, first, ll.log);
        bit -= ll.log;
        int stateO = peek(bit, first, of.log);
        bit -= of.log;
        int stateM = peek(bit, first, ml.log);
        bit -= ml.log;
        int r0 = repeats[0], r1 = repeats[1], r2 = repeats[2], literal = 0;
        byte[] o = out;
        int oAt = outAt, oEnd = (int) Math.min((long) begin + limit, (long) outAt + blockMost);
        for (int i = 0; i < count; i++) {
            int eL = lls[stateL], eO = ofs[stateO], eM = mls[stateM], codeO = eO & 255, bitsM = ML_BITS[eM & 255];
            int bitsL = LL_BITS[eL & 255];
            bit -= codeO;
            if (bit < first || codeO > 31) throw bad("sequences end early");
            long code = (1L << codeO) + (w.getLong((int) (bit >> 3)) >>> (bit & 7) & (1L << codeO) - 1);
            bit -= bitsM + bitsL;
            if (bit < first) throw bad("sequences end early");
            long extra = w.getLong((int) (bit >> 3)) >>> (bit & 7);
            int lits = LL_BASE[eL & 255] + (int) (extra & (1L << bitsL) - 1);
            int match = ML_BASE[eM & 255] + (int) (extra >>> bitsL & (1L << bitsM) - 1);
            int offset;
            if (code > 3) {
                if (code - 3 > Integer.MAX_VALUE) throw bad("an offset of " + (code - 3));
                offset = (int) (code - 3);
                r2 = r1;
                r1 = r0;
                r0 = offset;
            } else {
                int which = (int) code - (lits == 0 ? 0 : 1);
                if (which == 0) {
                    offset = r0;
                } else {
                    offset = which == 1 ? r1 : which == 2 ? r2 : r0 - 1;
                    if (offset == 0) throw bad("an offset of 0");
                    if (which != 1) r2 = r1;
                    r1 = r0;
                    r0 = offset;
                }
            }
            if (i + 1 < count) {
                int nL = eL >> 8 & 255, nM = eM >> 8 & 255, nO = eO >> 8 & 255;
                bit -= nL + nM + nO;
                if (bit < first) throw bad("sequences end early");
                int next = (int) (w.getLong((int) (bit >> 3)) >>> (bit & 7));
                stateO = (eO >>> 16) + (next & (1 << nO) - 1);
                stateM = (eM >>> 16) + (next >>> nO & (1 << nM) - 1);
                stateL = (eL >>> 16) + (next >>> nO + nM & (1 << nL) - 1);
            }
            if (lits > literalCount - literal || (long) lits + match > oEnd - oAt) throw bad("a sequence beyond the end");
            if (lits <= 16) {
                outWords.putLong(oAt, literalWords.getLong(literal));
                outWords.putLong(oAt + 8, literalWords.getLong(literal + 8));
            } else {
                System.arraycopy(literals, literal, o, oAt, lits);
            }
            literal += lits;
            oAt += lits;
            if (offset > oAt) throw bad("an offset of " + offset + " before the beginning");
            int source = oAt - offset, stop = oAt + match;
            if (offset >= 8) {
                if (match > 64 && offset >= match) {
                    System.arraycopy(o, source, o, oAt, match);
                } else {
                    for (int k = oAt; k < stop; k += 8, source += 8) outWords.putLong(k, outWords.getLong(source));
                }
            } else {
                for (int k = oAt; k < stop; k++) o[k] = o[source++];
            }
            oAt = stop;
        }
        if (bit != first) throw bad("sequences have another length");
        int rest = literalCount - literal;
        if (rest > oEnd - oAt) throw bad("more than " + limit + " bytes decoded");
        System.arraycopy(literals, literal, o, oAt, rest);
        outAt = oAt + rest;
        repeats[0] = r0;
        repeats[1] = r1;
        repeats[2] = r2;
    }

    private static final long P1 = 0x9E3779B185EBCA87L;
    private static final long P2 = 0xC2B2AE3D27D4EB4FL;
    private static final long P3 = 0x165667B19E3779F9L;
    private static final long P4 = 0x85EBCA77C2B2AE63L;
    private static final long P5 = 0x27D4EB2F165667C5L;

    private static long round(long acc, long input) { return Long.rotateLeft(acc + input * P2, 31) * P1; }

    static long xxh64(byte[] d, int from, int n) {
        int at = from, end = from + n;
        long h;
        if (n >= 32) {
            long[] v = {P1 + P2, P2, 0, -P1};
            for (; at + 32 <= end; at += 32) {
                for (int i = 0; i < 4; i++) v[i] = round(v[i], Bytes.i64(d, at + 8 * i));
            }
            h = Long.rotateLeft(v[0], 1) + Long.rotateLeft(v[1], 7) + Long.rotateLeft(v[2], 12) + Long.rotateLeft(v[3], 18);
            for (long x : v) h = (h ^ round(0, x)) * P1 + P4;
        } else {
            h = P5;
        }
        h += n;
        for (; at + 8 <= end; at += 8) h = Long.rotateLeft(h ^ round(0, Bytes.i64(d, at)), 27) * P1 + P4;
        if (at + 4 <= end) {
            h = Long.rotateLeft(h ^ (Bytes.i32(d, at) & 0xFFFFFFFFL) * P1, 23) * P2 + P3;
            at += 4;
        }
        for (; at < end; at++) h = Long.rotateLeft(h ^ (d[at] & 255) * P5, 11) * P1;
        h = (h ^ h >>> 33) * P2;
        h = (h ^ h >>> 29) * P3;
        return h ^ h >>> 32;
    }
}
