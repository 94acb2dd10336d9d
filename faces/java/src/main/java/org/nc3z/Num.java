package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.util.*;

/** The numeric codec {@code nc3z.num} (spec/num.md): a payload becomes patterns. */
final class Num {
    private static final int MAX_ELEMENTS = 1 << 30;
    private static final int MAX_ENTRIES = 65536;

    private final DataType type;
    private final int n, w, size;
    private final long[] geometry;
    private final Words dictionary, reference;

    private Num(DataType type, int n, long[] geometry, Words dictionary, Words reference) {
        this.type = type;
        this.n = n;
        this.w = 8 * type.size();
        this.size = type.size();
        this.geometry = geometry;
        this.dictionary = dictionary;
        this.reference = reference;
    }

    /** {@code geometry} is C, P, Q; {@code dictionary} and {@code reference}, patterns of this type, may be null. */
    static Words decode(byte[] data, int from, int to, DataType type, int n, long[] geometry, Words dictionary, Words reference) throws Nc3zException {
        need(n >= 0 && n <= MAX_ELEMENTS, "nc3z.num: " + n + " elements");
        return new Num(type, n, geometry, dictionary, reference).decode(new Bytes(data, from, to, "nc3z.num"));
    }

    /** A rank dictionary (section 9). */
    static Words dictionary(byte[] data, DataType type) throws Nc3zException {
        Bytes in = new Bytes(data, "nc3z.num: dictionary");
        int count = in.count(MAX_ENTRIES);
        need(count >= 1, "nc3z.num: a dictionary without entries");
        need(in.left() >= 2 && (data[in.at + 1] >> 2 & 3) != 3, "nc3z.num: a dictionary made with a dictionary");
        Words entries = decode(data, in.at, data.length, type, count, new long[3], null, null);
        for (int i = 1; i < count; i++) need(order(entries, i - 1) < order(entries, i), "nc3z.num: entries of a dictionary do not ascend");
        return entries;
    }

    /** A signed number that sorts as the entry does. */
    private static long order(Words entries, int i) {
        long b = entries.get(i);
        return entries.type.isUnsigned() ? b + Long.MIN_VALUE : entries.signed(entries.keyOf(b));
    }

    private Words decode(Bytes in) throws Nc3zException {
        int version = in.u8();
        if (version != 1) throw Nc3zException.unsupported("nc3z.num: payload of version " + version);
        int flags = in.u8(), more = in.u8(), mask = flags & 3, domain = flags >> 2 & 3, exceptions = flags >> 4;
        int strides = more & 15, coder = more >> 4 & 7, repeats = more >= 128 ? in.u8() : 0;
        boolean near = (strides & 1) != 0, byValue = (repeats & 16) != 0;
        need(mask <= 2 && exceptions <= 2 && coder <= 4 && repeats < 32 && repeats != 0 == more >= 128, "nc3z.num: unknown bits of the payload's header");
        need(!byValue || repeats == 16 && type.isReal() && domain < 2 && reference == null, "nc3z.num: by value where it has no meaning");
        need((near || (repeats & 3) == 0) && ((strides & 2) != 0 || (repeats & 12) == 0), "nc3z.num: strides repeated that are not named");
        need(exceptions == 0 || domain >= 2, "nc3z.num: exceptions in domain " + domain);
        need(domain != 2 || type.isReal(), "nc3z.num: scale and offset of integers");
        int[] named = new int[3];
        int count = 0;
        for (int k = 0; k < 3; k++) {
            if ((strides >> k + 1 & 1) != 0) named[count++] = stride(k);
        }
        named = Arrays.copyOf(named, count);
        need(!byValue || near && (count == 1 || count == 2 && named[1] % named[0] == 0), "nc3z.num: strides by value");
        if (mask == 2 || n == 0) need(flags == mask && more == 0 && (n > 0 || mask == 0), "nc3z.num: bits that mean nothing where all is masked");
        boolean[] exist = {mask != 0, near, domain == 1 || domain == 2, exceptions != 0, mask != 2};
        int[][] parts = parts(in, exist);
        byte[] d = in.data;
        if (mask == 2) {
            need(parts[0][1] - parts[0][0] == size, "nc3z.num: the mask is not one pattern");
            Words out = Words.make(type, n);
            out.fill(pattern(d, parts[0][0]));
            return out;
        }
        boolean[] valid = null;
        long masked = 0;
        if (mask == 1) {
            Bytes part = new Bytes(d, parts[0][0], parts[0][1], "nc3z.num: mask");
            masked = pattern(d, part.skip(size));
            valid = readMask(part);
        }
        int first = 0, nv = n;
        if (valid != null) {
            nv = 0;
            for (int i = n - 1; i >= 0; i--) {
                if (valid[i]) {
                    nv++;
                    first = i;
                }
            }
        }
        Words x = residuals(d, parts[4][0], parts[4][1], coder, nv, valid, strides != 0 || reference != null);
        long base = 0;
        if (near) {
            need(parts[1][1] - parts[1][0] == size, "nc3z.num: length of the base");
            need(x.get(first) == 0, "nc3z.num: the first residual is not 0");
            base = pattern(d, parts[1][0]);
        }
        double[][] steps = null;
        int seg = 0, trim = 0;
        if (domain == 1) {
            need(parts[2][1] - parts[2][0] == 1 && d[parts[2][0]] > 0 && d[parts[2][0]] < w, "nc3z.num: bits to trim");
            trim = d[parts[2][0]];
        } else if (domain == 2) {
            Bytes part = new Bytes(d, parts[2][0], parts[2][1], "nc3z.num: scale and offset");
            seg = part.count(n);
            need(seg >= 1, "nc3z.num: segments of no elements");
            steps = readSteps(part, (n - 1) / seg + 1);
        } else if (domain == 3) {
            need(dictionary != null, "nc3z.num: ranks without a dictionary");
        }
        if (byValue) {
            byValue(x, base, valid, first, named, trim);
        } else if (strides != 0) {
            boolean[] allowed = valid;
            if (near && valid != null) {
                allowed = new boolean[n];
                for (int i = 1; i < n; i++) allowed[i] = valid[i] && valid[i - 1];
            }
            for (int k = 2, at = count; k >= 0; k--) {
                if ((strides >> k + 1 & 1) != 0) {
                    at--;
                    for (int i = k == 0 ? repeats >> 2 & 3 : 0; i >= 0; i--) x.add(named[at], allowed);
                }
            }
            for (int i = repeats & 3; i > 0; i--) x.add(1, allowed);
            if (near) x.sum(base, valid);
        }
        if (reference != null) x.plus(referenceIntegers(mask == 1, masked, domain, trim, seg, steps));
        switch (domain) {
            case 0: x.key(); break;
            case 1: x.trim(trim); break;
            case 2: x.scaleOffset(seg, steps[0], steps[1], valid); break;
            default: x.rank(dictionary, valid);
        }
        if (exceptions == 1) {
            listed(x, d, parts[3][0], parts[3][1], valid);
        } else if (exceptions == 2) {
            marked(x, new Bytes(d, parts[3][0], parts[3][1], "nc3z.num: exceptions"), valid);
        }
        if (valid != null) x.mask(valid, masked);
        return x;
    }

    /** First and end of each part that exists; the last one reaches to the end. */
    private static int[][] parts(Bytes in, boolean[] exist) throws Nc3zException {
        int last = exist[4] ? 4 : 0;
        long[] lengths = new long[5];
        for (int k = 0; k < last; k++) lengths[k] = exist[k] ? in.varint(Integer.MAX_VALUE) : 0;
        int[][] out = new int[5][];
        for (int k = 0; k <= last; k++) {
            int from = k == last ? in.skip(in.left()) : in.skip(lengths[k]);
            out[k] = new int[] {from, in.at};
        }
        return out;
    }

    private int stride(int k) throws Nc3zException {
        need(geometry[k] > 1 && geometry[k] < n, "nc3z.num: a stride of " + geometry[k] + " in a tile of " + n + " elements");
        return (int) geometry[k];
    }

    private long pattern(byte[] d, int at) {
        long out = 0;
        for (int k = size - 1; k >= 0; k--) out = out << 8 | d[at + k] & 255;
        return out;
    }

    /** A zstd frame as section 1 wants it. */
    private static byte[] unzstd(byte[] d, int from, int to, int low, int high) throws Nc3zException {
        need(to - from >= 6 && (d[from + 4] & 31) == 0 && (d[from + 4] & 0xE0) != 0, "nc3z.num: a zstd frame of another form");
        return Zstd.decode(d, from, to - from, low, high, null);
    }

    private static byte[] byteString(byte[] d, int from, int to, long low, long high) throws Nc3zException {
        need(to > from && (d[from] == 0 || d[from] == 1), "nc3z.num: a byte string of another form");
        high = Math.min(high, Integer.MAX_VALUE - 64);
        if (d[from] == 1) return unzstd(d, from + 1, to, (int) low, (int) high);
        need(to - from - 1 >= low && to - from - 1 <= high, "nc3z.num: a byte string of " + (to - from - 1) + " bytes");
        return Arrays.copyOfRange(d, from + 1, to);
    }

    private boolean[] readMask(Bytes part) throws Nc3zException {
        int above = part.u8();
        need(above <= 2, "nc3z.num: a mask against stride " + above);
        int s = above == 0 ? 0 : stride(above - 1);
        Bytes runs = new Bytes(byteString(part.data, part.at, part.end, 1, n + 1L), "nc3z.num: mask");
        Memory.room(n);
        boolean[] valid = new boolean[n];
        boolean bit = false;
        int at = 0;
        while (runs.left() > 0) {
            boolean start = runs.at == 0;
            int run = runs.count(n - at);
            need(run > 0 || start, "nc3z.num: an empty run of the mask");
            if (bit) Arrays.fill(valid, at, at + run, true);
            at += run;
            bit = !bit;
        }
        need(at == n, "nc3z.num: runs of the mask end at " + at + " of " + n);
        int count = 0;
        for (int i = 0; i < n; i++) {
            if (s > 0 && i >= s) valid[i] ^= valid[i - s];
            count += valid[i] ? 1 : 0;
        }
        need(count > 0 && count < n, "nc3z.num: nothing or everything is masked");
        return valid;
    }

    private Words residuals(byte[] d, int from, int to, int coder, int nv, boolean[] valid, boolean signed) throws Nc3zException {
        Words x;
        if (coder == 3) {
            x = Ctx.decode(d, from, to, type, n, nv, valid);
        } else if (coder == 4) {
            x = Mix.decode(d, from, to, type, n, nv, valid);
        } else {
            x = Words.make(type, nv);
            long bytes = (long) nv * size;
            if (coder == 0) {
                need(to - from == bytes, "nc3z.num: residuals of " + (to - from) + " bytes, expected " + bytes);
                x.read(d, from, false);
            } else {
                need(bytes <= Integer.MAX_VALUE - 64, "nc3z.num: residuals of " + bytes + " bytes");
                x.read(unzstd(d, from, to, (int) bytes, (int) bytes), 0, coder == 2);
            }
        }
        if (signed && (coder == 2 || coder == 3)) x.unzigzag();
        return valid == null || x.n == n ? x : x.spread(valid, n);
    }

    private static boolean normal(double x) { return Math.abs(x) >= Double.MIN_NORMAL && Math.abs(x) <= Double.MAX_VALUE; }

    private static double[][] readSteps(Bytes part, int count) throws Nc3zException {
        need(part.left() == 16L * count, "nc3z.num: length of scales and offsets");
        double[][] out = {new double[count], new double[count]};
        for (int i = 0; i < count; i++) {
            out[0][i] = Double.longBitsToDouble(part.i64());
            out[1][i] = Double.longBitsToDouble(part.i64());
            need((out[0][i] == 0 || normal(out[0][i])) && normal(out[1][i]), "nc3z.num: a scale or offset that is not normal");
        }
        return out;
    }

    private void except(Words x, int at, long z, boolean[] valid) throws Nc3zException {
        need(at >= 0 && at < n && (valid == null || valid[at]), "nc3z.num: an exception at a position that is not valid");
        need(z != 0 && (z & ~x.all) == 0, "nc3z.num: an exception of 0 or too large");
        x.set(at, x.keyOf(x.keyOf(x.get(at)) + (z >>> 1 ^ -(z & 1)) & x.all));
    }

    private void listed(Words x, byte[] d, int from, int to, boolean[] valid) throws Nc3zException {
        Bytes in = new Bytes(byteString(d, from, to, 3, 15L * n + 5), "nc3z.num: exceptions");
        int count = in.count(n);
        need(count >= 1, "nc3z.num: no exceptions");
        need(count <= in.left() / 2, "nc3z.num: exceptions end early");
        int[] places = new int[count];
        long at = -1;
        for (int i = 0; i < count; i++) {
            at += in.varint(n) + 1;
            need(at < n, "nc3z.num: an exception beyond the tile");
            places[i] = (int) at;
        }
        for (int place : places) except(x, place, in.varint(), valid);
        in.finish();
    }

    private void marked(Words x, Bytes in, boolean[] valid) throws Nc3zException {
        int width = in.u8();
        need(width >= 1 && width <= size, "nc3z.num: exceptions of " + width + " bytes");
        int length = in.count(Integer.MAX_VALUE), from = in.skip(length), bytes = (n + 7) / 8;
        byte[] marks = byteString(in.data, from, in.at, bytes, bytes);
        need(n % 8 == 0 || (marks[bytes - 1] & 255) >> n % 8 == 0, "nc3z.num: unused bits of marks are not zero");
        int count = 0;
        for (byte b : marks) count += Integer.bitCount(b & 255);
        need(count >= 1, "nc3z.num: no exceptions");
        byte[] planes = byteString(in.data, in.at, in.end, (long) width * count, (long) width * count);
        for (int i = 0, k = 0; i < n; i++) {
            if ((marks[i >> 3] >> (i & 7) & 1) != 0) {
                long z = 0;
                for (int p = 0; p < width; p++) z |= (planes[p * count + k] & 255L) << 8 * p;
                except(x, i, z, valid);
                k++;
            }
        }
    }

    /** Section 5, "By value": binary64 holds the sum of two binary32 well enough that rounding it once more gives their rounded sum. */
    private strictfp void byValue(Words x, long base, boolean[] valid, int first, int[] named, int trim) throws Nc3zException {
        boolean single = w == 32;
        int s = named[0], t = named.length > 1 ? named[1] : 0;
        Memory.room(24L * n);
        double[] values = new double[n], steps = new double[n], firsts = new double[n];
        int before = -1;
        for (int i = first; i < n; i++) {
            if (valid != null && !valid[i]) continue;
            boolean starts = i >= s && i % s == 0 && (valid == null || valid[i - s]);
            long f;
            if (before < 0) {
                f = base;
            } else {
                double p;
                if (starts) {
                    p = t == 0 ? values[i - s] : round(values[i - s] + (i >= t ? firsts[i - t] : 0.0), single);
                } else {
                    double d = i >= s ? steps[i - s] : 0.0;
                    if (t > 0) {
                        double far = i >= t ? steps[i - t] : 0.0, farther = i >= t + s ? steps[i - t - s] : 0.0;
                        d = round(d + round(far - farther, single), single);
                    }
                    p = round(values[before] + d, single);
                }
                f = integer(p, trim, single) + x.get(i);
            }
            x.set(i, f);
            values[i] = number(f, trim, single);
            if (i % s != 0 && before == i - 1) steps[i] = round(values[i] - values[i - 1], single);
            if (starts) firsts[i] = round(values[i] - values[i - s], single);
            before = i;
        }
    }

    private static strictfp double round(double x, boolean single) { return single ? (float) x : x; }

    /** {@code num} of the pattern of an integer. */
    private static double number(long f, int k, boolean single) {
        if (single) {
            int g = (int) f, b = (g ^ g >> 31 & (k < 31 ? -1 >>> k + 1 : 0)) << k, e = b >> 23 & 255;
            return e >= 27 && e <= 226 ? Float.intBitsToFloat(b) : 0.0;
        }
        long b = (f ^ f >> 63 & (k < 63 ? -1L >>> k + 1 : 0)) << k, e = b >> 52 & 2047;
        return e >= 123 && e <= 1922 ? Double.longBitsToDouble(b) : 0.0;
    }

    /** F(p). */
    private static long integer(double p, int k, boolean single) {
        if (single) {
            int q = Float.floatToRawIntBits((float) p) >> k;
            return q ^ q >> 31 & (k < 31 ? -1 >>> k + 1 : 0);
        }
        long q = Double.doubleToRawLongBits(p) >> k;
        return q ^ q >> 63 & (k < 63 ? -1L >>> k + 1 : 0);
    }

    // ------------------------------------------------------------ section 10: references

    private Words referenceIntegers(boolean someMasked, long masked, int domain, int trim, int seg, double[][] steps) throws Nc3zException {
        Words out = Words.make(type, n);
        Map<Long, Integer> ranks = new HashMap<>();
        if (domain == 3) {
            for (int i = 0; i < dictionary.n; i++) ranks.put(dictionary.get(i), i);
        }
        long last = 0;
        for (int i = 0; i < n; i++) {
            long p = reference.get(i);
            if (!someMasked || p != masked) {
                if (domain == 0) {
                    last = out.keyOf(p);
                } else if (domain == 1) {
                    long b = out.signed(p) >> trim;
                    last = b ^ (type.isReal() && b < 0 && trim + 1 < w ? out.all >>> trim + 1 : 0);
                } else if (domain == 2) {
                    Long step = step(p, steps[0][i / seg], steps[1][i / seg]);
                    last = step == null ? last : step;
                } else {
                    Integer rank = ranks.get(p);
                    last = rank == null ? last : rank;
                }
            }
            out.set(i, last);
        }
        return out;
    }

    private strictfp Long step(long p, double off, double step) {
        double x = valueOf(flushed(p, w), w), d = x - off;
        if (Math.abs(d) < Double.MIN_NORMAL) d = 0;
        double ratio = Math.rint(step > 0 ? d / step : d * -step);
        return Math.abs(ratio) <= (w == 32 ? Integer.MAX_VALUE : (double) (1L << 53)) ? (Long) (long) ratio : null;
    }

    private static long flushed(long b, int w) {
        long low = w == 32 ? 0x7FFFFFFFL : Long.MAX_VALUE;
        return (b & low) <= Words.least(w) ? b & ~low & (w == 32 ? 0xFFFFFFFFL : -1L) : b;
    }

    private static double valueOf(long b, int w) { return w == 32 ? Float.intBitsToFloat((int) b) : Double.longBitsToDouble(b); }

    /** The patterns of a reference as patterns of another type. */
    static Words convert(Words from, DataType type) throws Nc3zException {
        if (from.type == type) return from;
        Words out = Words.make(type, from.n);
        for (int i = 0; i < from.n; i++) {
            long b = from.get(i);
            if (!from.type.isReal()) {
                long k = from.type.isUnsigned() ? b : from.signed(b);
                boolean huge = from.type == DataType.UINT64 && k < 0;
                out.set(i, type.isReal() ? patternOf(huge ? unsigned(k) : (double) k, type) : k);
                continue;
            }
            double x = valueOf(flushed(b, from.w), from.w);
            if (type.isReal()) out.set(i, x != x ? type.size() == 4 ? 0x7FC00000L : 0x7FF8000000000000L : flushed(patternOf(x, type), out.w));
            else out.set(i, nearest(Math.rint(x), type));
        }
        return out;
    }

    private static double unsigned(long k) { return new java.math.BigDecimal(Long.toUnsignedString(k)).doubleValue(); }

    private static long patternOf(double x, DataType type) {
        return type.size() == 4 ? Float.floatToRawIntBits((float) x) & 0xFFFFFFFFL : Double.doubleToRawLongBits(x);
    }

    /** An integer of the type; NaN becomes 0. */
    private static long nearest(double x, DataType type) {
        int w = 8 * type.size();
        if (type.isUnsigned()) {
            if (!(x > 0)) return 0;
            if (w == 64) return x >= 0x1p64 ? -1 : x >= 0x1p63 ? (long) (x - 0x1p63) + Long.MIN_VALUE : (long) x;
            return Math.min((long) x, (1L << w) - 1);
        }
        long k = (long) x;
        return w == 64 ? k : Math.max(-(1L << w - 1), Math.min(k, (1L << w - 1) - 1));
    }

    /** C, P and Q of a shape. */
    static long[] geometry(long[] shape) {
        long[] out = new long[3];
        long product = 1;
        for (int k = 0; k < 3 && k < shape.length; k++) {
            product = Bytes.times(product, shape[shape.length - 1 - k]);
            out[k] = product;
        }
        return out;
    }
}
