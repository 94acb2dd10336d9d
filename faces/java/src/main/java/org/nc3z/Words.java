package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.nio.ByteBuffer;

/**
 * Numbers of one type while {@code nc3z.num} works on them: patterns, integers or residuals, modulo 2^w. Types of up to 32 bits are in ints,
 * others in longs. The loops that take the time exist for both; what is rare uses {@link #get} and {@link #set}.
 */
abstract class Words {
    final DataType type;
    final int n;
    /** Bits of an element. */
    final int w;
    final long all;

    private Words(DataType type, int n) {
        this.type = type;
        this.n = n;
        w = 8 * type.size();
        all = w == 64 ? -1 : (1L << w) - 1;
    }

    static Words make(DataType type, int n) throws Nc3zException {
        return type.size() == 8 ? new Long64(type, n) : new Int32(type, n);
    }

    /** Element {@code i}, of which the bits from w on are zero. */
    abstract long get(int i);

    abstract void set(int i, long value);

    /** Little-endian elements, one after another, or, with {@code planes}, all lowest bytes first. */
    abstract void read(byte[] d, int from, boolean planes);

    abstract void unzigzag();

    /** x[i] += x[i - s] for ascending i; with {@code allowed}, where allowed[i - s]. */
    abstract void add(int s, boolean[] allowed);

    /** Running sums, beginning with {@code base}; with {@code valid}, of these positions. */
    abstract void sum(long base, boolean[] valid);

    /** {@code key} of each. */
    abstract void key();

    abstract void trim(int k);

    abstract void scaleOffset(int seg, double[] off, double[] step, boolean[] valid) throws Nc3zException;

    abstract void rank(Words dictionary, boolean[] valid) throws Nc3zException;

    /** Adds those of another list. */
    abstract void plus(Words other);

    abstract void fill(long value);

    /** These as the valid positions of a grid of {@code size}, with zeros elsewhere. */
    abstract Words spread(boolean[] valid, int size) throws Nc3zException;

    /** The values z of tokens (spec/num.md, section 7). */
    abstract void tokens(byte[] tokens, Bits raw) throws Nc3zException;

    /** Sets what is not valid. */
    final void mask(boolean[] valid, long pattern) {
        for (int i = 0; i < n; i++) {
            if (!valid[i]) set(i, pattern);
        }
    }

    long signed(long x) { return x << 64 - w >> 64 - w; }

    long keyOf(long b) { return type.isReal() && (b >>> w - 1 & 1) != 0 ? b ^ all >>> 1 : b; }

    abstract byte[] bigEndian();

    static Words fromBigEndian(DataType type, byte[] data) throws Nc3zException {
        Words out = make(type, data.length / type.size());
        ByteBuffer in = ByteBuffer.wrap(data);
        if (out instanceof Int32) {
            int[] x = ((Int32) out).x;
            for (int i = 0; i < x.length; i++) x[i] = type.size() == 4 ? in.getInt() : type.size() == 2 ? in.getShort() & 0xFFFF : in.get() & 255;
        } else {
            in.asLongBuffer().get(((Long64) out).x);
        }
        return out;
    }

    /** The smallest normal number, as a pattern. */
    static long least(int w) { return w == 32 ? 0x00800000L : 0x0010000000000000L; }

    static final class Int32 extends Words {
        final int[] x;

        Int32(DataType type, int n) throws Nc3zException {
            super(type, n);
            x = Memory.ints(n);
        }

        @Override long get(int i) { return x[i] & all; }

        @Override void set(int i, long value) { x[i] = (int) value; }

        @Override void read(byte[] d, int from, boolean planes) {
            int size = w / 8;
            if (planes || size == 1) {
                for (int i = 0; i < n; i++) x[i] = d[from + i] & 255;
                for (int k = 1; k < size; k++) {
                    int at = from + k * n;
                    for (int i = 0; i < n; i++) x[i] |= (d[at + i] & 255) << 8 * k;
                }
            } else if (size == 4) {
                ByteBuffer b = Bytes.little(d);
                b.position(from);
                b.asIntBuffer().get(x);
            } else {
                for (int i = 0; i < n; i++) x[i] = Bytes.u16(d, from + 2 * i);
            }
        }

        @Override void unzigzag() {
            for (int i = 0; i < n; i++) x[i] = x[i] >>> 1 ^ -(x[i] & 1);
        }

        @Override void add(int s, boolean[] allowed) {
            int[] y = x;
            if (allowed != null) {
                for (int i = s; i < n; i++) {
                    if (allowed[i - s]) y[i] += y[i - s];
                }
            } else if (s == 1) {
                for (int i = 0, sum = 0; i < n; i++) {
                    sum += y[i];
                    y[i] = sum;
                }
            } else {
                for (int i = s; i < n; i++) y[i] += y[i - s];
            }
        }

        @Override void sum(long base, boolean[] valid) {
            int sum = (int) base;
            for (int i = 0; i < n; i++) {
                if (valid == null || valid[i]) {
                    sum += x[i];
                    x[i] = sum;
                }
            }
        }

        @Override void key() {
            if (type.isReal()) {
                for (int i = 0; i < n; i++) x[i] ^= x[i] >> 31 >>> 1;
            }
        }

        @Override void trim(int k) {
            int low = type.isReal() && k < 31 ? -1 >>> k + 1 : 0;
            for (int i = 0; i < n; i++) x[i] = (x[i] ^ x[i] >> 31 & low) << k;
        }

        @Override strictfp void scaleOffset(int seg, double[] off, double[] step, boolean[] valid) {
            for (int j = 0, i = 0; i < n; j++) {
                int end = (int) Math.min(n, (long) i + seg);
                double a = off[j], b = step[j];
                boolean divide = b < 0;
                b = Math.abs(b);
                for (; i < end; i++) {
                    int p = Float.floatToRawIntBits((float) (a + (divide ? x[i] / b : x[i] * b)));
                    x[i] = (p & 0x7FFFFFFF) <= 0x00800000 ? p & 0x80000000 : p;
                }
            }
        }

        @Override void rank(Words dictionary, boolean[] valid) throws Nc3zException {
            int[] d = ((Int32) dictionary).x;
            int mask = (int) all;
            for (int i = 0; i < n; i++) {
                if (valid == null || valid[i]) {
                    int f = x[i] & mask;
                    need(f >= 0 && f < d.length, "nc3z.num: a rank beyond the dictionary");
                    x[i] = d[f];
                }
            }
        }

        @Override void plus(Words other) {
            int[] y = ((Int32) other).x;
            for (int i = 0; i < n; i++) x[i] += y[i];
        }

        @Override void fill(long value) { java.util.Arrays.fill(x, (int) value); }

        @Override Words spread(boolean[] valid, int size) throws Nc3zException {
            Int32 out = new Int32(type, size);
            for (int i = 0, k = 0; i < size; i++) {
                if (valid[i]) out.x[i] = x[k++];
            }
            return out;
        }

        @Override void tokens(byte[] tokens, Bits raw) throws Nc3zException {
            ByteBuffer words = raw.words;
            long at = raw.at, end = raw.end;
            for (int i = 0; i < n; i++) {
                int t = tokens[i] & 255;
                if (t >= 16) {
                    int bits = (t - 16 >> 1) + 3;
                    if (bits > end - at) throw raw.corrupt("ends early");
                    t = (2 + (t & 1) << bits) + ((int) (words.getLong((int) (at >> 3)) >>> (at & 7)) & (1 << bits) - 1);
                    at += bits;
                }
                x[i] = t;
            }
            raw.at = at;
        }

        @Override byte[] bigEndian() {
            int size = w / 8;
            byte[] out = new byte[n * size];
            if (size == 4) {
                ByteBuffer.wrap(out).asIntBuffer().put(x);
            } else if (size == 2) {
                for (int i = 0; i < n; i++) {
                    out[2 * i] = (byte) (x[i] >> 8);
                    out[2 * i + 1] = (byte) x[i];
                }
            } else {
                for (int i = 0; i < n; i++) out[i] = (byte) x[i];
            }
            return out;
        }
    }

    static final class Long64 extends Words {
        final long[] x;

        Long64(DataType type, int n) throws Nc3zException {
            super(type, n);
            x = Memory.longs(n);
        }

        @Override long get(int i) { return x[i]; }

        @Override void set(int i, long value) { x[i] = value; }

        @Override void read(byte[] d, int from, boolean planes) {
            if (!planes) {
                ByteBuffer b = Bytes.little(d);
                b.position(from);
                b.asLongBuffer().get(x);
                return;
            }
            for (int i = 0; i < n; i++) x[i] = d[from + i] & 255L;
            for (int k = 1; k < 8; k++) {
                int at = from + k * n;
                for (int i = 0; i < n; i++) x[i] |= (d[at + i] & 255L) << 8 * k;
            }
        }

        @Override void unzigzag() {
            for (int i = 0; i < n; i++) x[i] = x[i] >>> 1 ^ -(x[i] & 1);
        }

        @Override void add(int s, boolean[] allowed) {
            for (int i = s; i < n; i++) {
                if (allowed == null || allowed[i - s]) x[i] += x[i - s];
            }
        }

        @Override void sum(long base, boolean[] valid) {
            long sum = base;
            for (int i = 0; i < n; i++) {
                if (valid == null || valid[i]) {
                    sum += x[i];
                    x[i] = sum;
                }
            }
        }

        @Override void key() {
            if (type.isReal()) {
                for (int i = 0; i < n; i++) x[i] ^= x[i] >> 63 >>> 1;
            }
        }

        @Override void trim(int k) {
            long low = type.isReal() && k < 63 ? -1L >>> k + 1 : 0;
            for (int i = 0; i < n; i++) x[i] = (x[i] ^ x[i] >> 63 & low) << k;
        }

        @Override strictfp void scaleOffset(int seg, double[] off, double[] step, boolean[] valid) throws Nc3zException {
            for (int j = 0, i = 0; i < n; j++) {
                int end = (int) Math.min(n, (long) i + seg);
                double a = off[j], b = step[j];
                boolean divide = b < 0;
                b = Math.abs(b);
                for (; i < end; i++) {
                    need(x[i] <= 1L << 53 && x[i] >= -(1L << 53) || valid != null && !valid[i], "nc3z.num: a multiple beyond 2^53");
                    long p = Double.doubleToRawLongBits(a + (divide ? x[i] / b : x[i] * b));
                    x[i] = (p & Long.MAX_VALUE) <= 0x0010000000000000L ? p & Long.MIN_VALUE : p;
                }
            }
        }

        @Override void rank(Words dictionary, boolean[] valid) throws Nc3zException {
            long[] d = ((Long64) dictionary).x;
            for (int i = 0; i < n; i++) {
                if (valid == null || valid[i]) {
                    need(x[i] >= 0 && x[i] < d.length, "nc3z.num: a rank beyond the dictionary");
                    x[i] = d[(int) x[i]];
                }
            }
        }

        @Override void plus(Words other) {
            long[] y = ((Long64) other).x;
            for (int i = 0; i < n; i++) x[i] += y[i];
        }

        @Override void fill(long value) { java.util.Arrays.fill(x, value); }

        @Override Words spread(boolean[] valid, int size) throws Nc3zException {
            Long64 out = new Long64(type, size);
            for (int i = 0, k = 0; i < size; i++) {
                if (valid[i]) out.x[i] = x[k++];
            }
            return out;
        }

        @Override void tokens(byte[] tokens, Bits raw) throws Nc3zException {
            for (int i = 0; i < n; i++) {
                int t = tokens[i] & 255;
                if (t >= 16) {
                    int bits = (t - 16 >> 1) + 3;
                    x[i] = ((2L + (t & 1)) << bits) + raw.take(bits);
                } else {
                    x[i] = t;
                }
            }
        }

        @Override byte[] bigEndian() {
            byte[] out = new byte[n * 8];
            ByteBuffer.wrap(out).asLongBuffer().put(x);
            return out;
        }
    }
}
