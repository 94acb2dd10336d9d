package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.util.Arrays;

/** The coder {@code mix} (spec/num.md, section 8): decisions by an arithmetic coder, whose model learns from each of them. */
final class Mix {
    private static final int[] Y = {22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793, 47911, 53581, 57724,
        60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514};
    /** σ(x) at x + 2048. */
    private static final int[] SQUASH = new int[4096];
    /** τ(q). */
    private static final short[] STRETCH = new short[4096];
    private static final int[] ADAPT = new int[16];
    private static final int[] RATE = new int[256];
    private static final int[] LINE = new int[33];
    private static final long LARGEST = 1L << 50;

    static {
        for (int x = 0; x < 4096; x++) {
            int f = x & 127;
            SQUASH[x] = Y[x >> 7] * (128 - f) + Y[(x >> 7) + 1] * f + 64 >> 7;
        }
        for (int q = 0, x = 0; q < 4096; q++) {
            while (x < 4096 && SQUASH[x] < 16 * q + 8) x++;
            STRETCH[q] = (short) Math.min(x - 2048, 2047);
        }
        for (int age = 0; age < 16; age++) ADAPT[age] = 327680 / (10 * age + 16);
        for (int age = 0; age < 256; age++) RATE[age] = 20 + 300 / (age + 1);
        for (int i = 0; i < 33; i++) LINE[i] = SQUASH[Math.min(128 * i, 4095)];
    }

    private final int log;
    /** Probability in bits 4 and up, age in bits 0 to 3. */
    private final char[] estimates;
    private final int[] byStep = new int[96 * 8];
    private final int[] trained = new int[96];
    private final int[] byClass = new int[1536 * 8];
    private final int[] refined = new int[1536 * 33];
    private final byte[] stream;
    private final int end;
    private int at;
    private long range = 0xFFFFFFFFL;
    private long code;
    /** The seven hashes, and the places that they lead to. */
    private final int[] h = new int[7];
    private final int[] g = new int[7];

    private Mix(int n, byte[] stream, int from, int to) {
        log = Math.min(Math.max(32 - Integer.numberOfLeadingZeros(n) + 3, 10), 16);
        estimates = new char[7 << log];
        Arrays.fill(estimates, (char) (2048 << 4));
        Arrays.fill(byStep, 4588);
        Arrays.fill(byClass, 4588);
        for (int i = 0; i < refined.length; i += 33) System.arraycopy(LINE, 0, refined, i, 33);
        this.stream = stream;
        at = from;
        end = to;
        for (int i = 0; i < 4; i++) {
            code = code << 8 | (at < end ? stream[at] & 255 : 0);
            at++;
        }
    }

    private static int hash(int x) { return Integer.rotateLeft(x * 0x9E3779B1, 15) * 0xC2B2AE35; }

    private static int pair(int a, int b) { return (a * 0x2545F491 ^ Integer.rotateLeft(b * 0x9E3779B9, 13)) * 0x85EBCA6B; }

    private static int c(long x) { return 64 - Long.numberOfLeadingZeros(Math.abs(x)); }

    private static int sign(long x) { return x < 0 ? 1 : x > 0 ? 2 : 0; }

    private static long m(long x) {
        long a = Math.abs(x);
        return a < 0 || a > LARGEST ? LARGEST : a;
    }

    private static long logarithm(long x, int f) {
        if (x < 2 << f) return x;
        int e = 63 - Long.numberOfLeadingZeros(x);
        return (e - f << f) + (x >> e - f);
    }

    private void groups() {
        int shift = 32 - log;
        for (int i = 0; i < 7; i++) g[i] = (i << log) + (h[i] >>> shift) & ~15;
    }

    private void places() {
        int shift = 32 - log;
        for (int i = 0; i < 7; i++) g[i] = (i << log) + (h[i] >>> shift);
    }

    private static int clamp(int x) { return Math.max(-32768, Math.min(x, 32767)); }

    /** One decision by the estimates {@code inside} of the seven groups; 1 or 0. */
    private int decide(int inside, int t, int class_) throws Nc3zException {
        char[] q = estimates;
        int i0 = g[0] + inside, i1 = g[1] + inside, i2 = g[2] + inside, i3 = g[3] + inside, i4 = g[4] + inside;
        int i5 = g[5] + inside, i6 = g[6] + inside, q0 = q[i0], q1 = q[i1], q2 = q[i2], q3 = q[i3];
        int q4 = q[i4], q5 = q[i5], q6 = q[i6];
        short[] stretch = STRETCH;
        int v0 = stretch[q0 >> 4], v1 = stretch[q1 >> 4], v2 = stretch[q2 >> 4], v3 = stretch[q3 >> 4];
        int v4 = stretch[q4 >> 4], v5 = stretch[q5 >> 4], v6 = stretch[q6 >> 4];
        int[] a = byStep, d = byClass;
        int ai = 8 * t, di = 8 * class_, a0 = a[ai], a1 = a[ai + 1], a2 = a[ai + 2], a3 = a[ai + 3];
        int a4 = a[ai + 4], a5 = a[ai + 5], a6 = a[ai + 6], a7 = a[ai + 7], d0 = d[di], d1 = d[di + 1];
        int d2 = d[di + 2], d3 = d[di + 3], d4 = d[di + 4], d5 = d[di + 5], d6 = d[di + 6], d7 = d[di + 7];
        int x = (a0 + d0) * v0 + (a1 + d1) * v1 + (a2 + d2) * v2 + (a3 + d3) * v3 + (a4 + d4) * v4 + (a5 + d5) * v5 + (a6 + d6) * v6 + (a7 + d7) * 256 >> 15;
        x = Math.max(-2047, Math.min(x, 2047)) + 2048;
        int squashed = SQUASH[x], j = 33 * class_ + (x >> 7), f = x & 127;
        int[] line = refined;
        int r = line[j] * (128 - f) + line[j + 1] * f >> 7, p = Math.max(24, Math.min(squashed + r >> 1, 65512));
        // the bit
        long bound = (range >>> 16) * p;
        int bit;
        if (code < bound) {
            bit = 1;
            range = bound;
        } else {
            bit = 0;
            range -= bound;
            code -= bound;
        }
        while (range < 1 << 24) {
            range <<= 8;
            if (at >= end + 3) throw Nc3zException.corrupt("nc3z.num: stream 1 of mix ends early");
            code = code << 8 & 0xFFFFFFFFL | (at < end ? stream[at] & 255 : 0);
            at++;
        }
        // what is learnt
        j += f >>> 6;
        line[j] += 65535 * bit - line[j] >> 6;
        int rate = RATE[trained[t]];
        trained[t] = Math.min(trained[t] + 1, 255);
        int e = clamp((65536 * bit - squashed) * rate >> 9) * 16, u = v0 * e + 16384 >> 15;
        a[ai] = clamp(a0 + u);
        d[di] = clamp(d0 + u);
        u = v1 * e + 16384 >> 15;
        a[ai + 1] = clamp(a1 + u);
        d[di + 1] = clamp(d1 + u);
        u = v2 * e + 16384 >> 15;
        a[ai + 2] = clamp(a2 + u);
        d[di + 2] = clamp(d2 + u);
        u = v3 * e + 16384 >> 15;
        a[ai + 3] = clamp(a3 + u);
        d[di + 3] = clamp(d3 + u);
        u = v4 * e + 16384 >> 15;
        a[ai + 4] = clamp(a4 + u);
        d[di + 4] = clamp(d4 + u);
        u = v5 * e + 16384 >> 15;
        a[ai + 5] = clamp(a5 + u);
        d[di + 5] = clamp(d5 + u);
        u = v6 * e + 16384 >> 15;
        a[ai + 6] = clamp(a6 + u);
        d[di + 6] = clamp(d6 + u);
        u = 256 * e + 16384 >> 15;
        a[ai + 7] = clamp(a7 + u);
        d[di + 7] = clamp(d7 + u);
        int goal = 4095 * bit;
        q[i0] = learn(q0, goal);
        q[i1] = learn(q1, goal);
        q[i2] = learn(q2, goal);
        q[i3] = learn(q3, goal);
        q[i4] = learn(q4, goal);
        q[i5] = learn(q5, goal);
        q[i6] = learn(q6, goal);
        return bit;
    }

    private static char learn(int estimate, int goal) {
        int q = estimate >> 4, age = estimate & 15;
        q += (goal - q) * ADAPT[age] + 16384 >> 15;
        return (char) (q << 4 | Math.min(age + 1, 15));
    }

    /** The residuals at the valid positions of the grid, 0 elsewhere. */
    static Words decode(byte[] d, int from, int to, DataType type, int n, int nv, boolean[] valid) throws Nc3zException {
        Bytes head = new Bytes(d, from, to, "nc3z.num: mix");
        int row = head.count(Integer.MAX_VALUE);
        need(row == 0 || row > 1 && row < n, "nc3z.num: mix with rows of " + row);
        int plane = row == 0 ? 0 : head.count(Integer.MAX_VALUE);
        need(plane == 0 || plane > row && plane < n, "nc3z.num: mix with planes of " + plane);
        int full = head.u8();
        need(full <= 20, "nc3z.num: mix with F = " + full);
        int length = head.count(Integer.MAX_VALUE), first = head.skip(length);
        Bits raw = new Bits(d, head.at, to, "mix raw bits");
        Mix mix = new Mix(n, d, first, head.at);
        Words out = Words.make(type, n);
        mix.values(out, valid, row, plane, full, raw);
        raw.finish();
        need(mix.at == mix.end + 3, "nc3z.num: stream 1 of mix is not of the length that it needs");
        return out;
    }

    private void values(Words out, boolean[] valid, int row, int plane, int full, Bits raw) throws Nc3zException {
        int n = out.n, w = out.w;
        long[] grid = Memory.longs(n);
        long w0 = 0, w1 = 0, w2 = 0, w3 = 0, sum = 0, average = 0;
        for (int p = 0; p < n; p++) {
            if (valid != null && !valid[p]) continue;
            long north = row == 0 ? w2 : p >= row ? grid[p - row] : 0;
            long northWest = row == 0 ? w3 : p > row ? grid[p - row - 1] : 0;
            long northEast = row > 0 && p >= row - 1 ? grid[p - row + 1] : 0;
            long northNorth = row > 0 && p >= 2L * row ? grid[p - 2 * row] : 0;
            long top = plane > 0 && p >= plane ? grid[p - plane] : 0;
            long topEast = plane > 0 && p >= plane - 1 ? grid[p - plane + 1] : 0;
            long topSouth = plane > 0 && p >= plane - row ? grid[p - plane + row] : 0;
            long expected = 2 * m(w0) + m(w1) + 2 * m(north) + m(northWest) + m(northEast) + m(northNorth) / 2 + 2 * m(top) + m(topEast) / 2 + m(topSouth) / 2;
            int s = Math.min(c(expected >> 3), w - 1), k = (int) Math.min(logarithm(expected, 2), 127);
            int column = row == 0 ? 0 : p % row, x0 = (int) logarithm(m(w0), 1) | c(w1) << 8 | c(w2) << 16;
            int x1 = (int) logarithm(m(north), 1) | c(northEast) << 8 | c(northWest) << 16;
            int x2 = (int) logarithm(m(top), 1) | Math.max(c(topEast), c(topSouth)) << 8 | s << 16;
            int h0 = h[0] = hash(x0), h1 = h[1] = hash(x1), h2 = h[2] = hash(x2);
            int h3 = h[3] = hash(pair((int) sum, 0));
            int h4 = h[4] = hash((int) logarithm(average >> 4, 2) | c(w0) / 2 << 8);
            int h5 = h[5] = hash(pair((int) w0, (int) w1)), h6 = h[6] = hash(column | c(north) << 20);
            groups();
            int class_ = s;
            if (s == 0 || decide(s & 15, 0, k) == 1) {
                while (class_ < w) {
                    int u = class_ + 1 - s;
                    if (decide(class_ + 1 & 15, Math.min(u, 10), 128 * Math.min(u, 3) + k) == 0) break;
                    class_++;
                }
            } else {
                class_--;
                while (class_ > 0) {
                    int u = s - class_;
                    if (decide(class_ & 15, 10 + Math.min(u, 10), 128 * (3 + Math.min(u, 3)) + k) == 1) break;
                    class_--;
                }
            }
            long value = 0;
            if (class_ > 0) {
                h[0] = hash((rel(w0, class_) | rel(w1, class_) << 5 | rel(w2, class_) << 10) ^ 1 << 30);
                h[1] = hash((rel(north, class_) | rel(northWest, class_) << 5 | rel(northEast, class_) << 10) ^ 1 << 30);
                h[2] = hash((rel(top, class_) | rel(topEast, class_) << 5 | rel(topSouth, class_) << 10) ^ 1 << 30);
                h[3] = hash(pair((int) sum, 0) ^ class_ ^ 1 << 30);
                h[4] = hash(rel(w0 + north, class_) ^ 1 << 30);
                h[5] = hash(pair((int) w0, (int) w1) ^ class_ ^ 1 << 30);
                h[6] = hash((column | sign(north) << 24) ^ 1 << 30);
                places();
                int negative = decide(0, 21 + Math.min(class_, 8), 128 * 7 + sign(w0) + 3 * sign(north) + 9 * sign(top));
                int below = class_ - 1, decided = class_ <= full ? below : Math.min(2, below);
                value = 1;
                int inside = 1;
                for (int j = 0; j < decided; j++) {
                    if ((j & 3) == 0) {
                        int salt = hash(class_ << 16 | (int) value);
                        h[0] = (h0 ^ salt) * 0x9E3779B1;
                        h[1] = (h1 ^ salt) * 0x9E3779B1;
                        h[2] = (h2 ^ salt) * 0x9E3779B1;
                        h[3] = (h3 ^ salt) * 0x9E3779B1;
                        h[4] = (h4 ^ salt) * 0x9E3779B1;
                        h[5] = (h5 ^ salt) * 0x9E3779B1;
                        h[6] = (h6 ^ salt) * 0x9E3779B1;
                        groups();
                        inside = 1;
                    }
                    int bit = decide(inside, 32 + 8 * Math.min(j, 7) + Math.min(class_, 7), 128 * (8 + Math.min(j, 3)) + Math.min(class_, 15));
                    inside = inside << 1 | bit;
                    value = value << 1 | bit;
                }
                if (below > decided) value = value << below - decided | raw.take(below - decided);
                value = out.signed(negative == 1 ? -value : value);
            }
            grid[p] = value;
            out.set(p, value);
            w3 = w2;
            w2 = w1;
            w1 = w0;
            w0 = value;
            sum += value;
            average += (m(value) << 8) - average >> 4;
        }
    }

    private static int rel(long x, int class_) { return 3 * Math.min(Math.max(c(x) + 3 - class_, 0), 6) + sign(x); }
}
