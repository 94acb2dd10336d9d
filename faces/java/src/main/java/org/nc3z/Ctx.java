package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.nio.ByteBuffer;

/** The coder {@code ctx} (spec/num.md, section 7): tokens by tables that the neighbours choose, in four lanes. */
final class Ctx {
    private Ctx() {}

    /** The values z at the valid positions of the grid, 0 elsewhere. */
    static Words decode(byte[] d, int from, int to, DataType type, int n, int nv, boolean[] valid) throws Nc3zException {
        int alphabet = 16 * type.size() + 8;
        Bytes head = new Bytes(d, from, to, "nc3z.num: ctx");
        int log = head.u8(), kn = head.u8(), kw = head.u8(), nt = head.u8();
        need(log >= 5 && log <= 12, "nc3z.num: tables of 2^" + log + " states");
        need(kn >= 1 && kn <= 16 && kw >= 1 && kw <= 16 && kn * kw << log <= 65536, "nc3z.num: " + kn + " by " + kw + " classes");
        need(nt >= 1 && nt <= Math.min(64, kn * kw), "nc3z.num: " + nt + " tables");
        int back = head.count(Integer.MAX_VALUE);
        need(kn == 1 ? back == 0 : back >= 16 && 8L * back < n, "nc3z.num: distance of the previous row " + back);
        int[] ofRow = classes(head, kn), ofToken = classes(head, kw), map = new int[kn * kw];
        int bytes = nt <= 16 ? (kn * kw + 1) / 2 : kn * kw, at = head.skip(bytes);
        for (int i = 0; i < kn * kw; i++) {
            map[i] = nt <= 16 ? d[at + i / 2] >> 4 * (i & 1) & 15 : d[at + i] & 255;
            need(map[i] < nt, "nc3z.num: a table that does not exist");
        }
        need(nt > 16 || kn * kw % 2 == 0 || (d[head.at - 1] & 0xF0) == 0, "nc3z.num: unused bits of the map are not zero");

        Bits bits = new Bits(d, head.at, to, "ctx tables");
        int[] tables = new int[nt << log];
        for (int t = 0; t < nt; t++) table(bits, log, alphabet, tables, t << log);
        int stop = head.at + (int) (bits.at + 7 >> 3);
        Bits used = new Bits(d, head.at, stop, "ctx tables");
        used.at = bits.at;
        used.finish();
        head.skip(stop - head.at);
        int length = head.count(Integer.MAX_VALUE), one = head.skip(length);
        // base[qn * alphabet + a]: where the table begins for class qn of the row and the lane's last token a
        int[] base = new int[kn * alphabet];
        for (int q = 0; q < kn; q++) {
            for (int a = 0; a < alphabet; a++) base[q * alphabet + a] = map[q * kw + ofToken[a]] << log;
        }
        for (int u = 0; u < 256; u++) ofRow[u] *= alphabet;
        byte[] tokens = tokens(new Bits(d, one, head.at, "ctx tokens"), log, n, nv, valid, back, base, ofRow, kn / 2 * alphabet, tables);
        Bits raw = new Bits(d, head.at, to, "ctx raw bits");
        Words out = Words.make(type, n);
        out.tokens(tokens, raw);
        raw.finish();
        return out;
    }

    /** The class of each token, by thresholds that ascend. */
    private static int[] classes(Bytes head, int count) throws Nc3zException {
        int[] out = new int[256];
        for (int k = 1, last = 0; k < count; k++) {
            int t = head.u8();
            need(t > last, "nc3z.num: thresholds do not ascend");
            last = t;
            for (int a = t; a < 256; a++) out[a] = k;
        }
        return out;
    }

    /** Symbol, bits to read (from bit 8 on) and base of the next state (from bit 16 on) of each state. */
    private static void table(Bits bits, int log, int alphabet, int[] out, int at) throws Nc3zException {
        int lo = (int) bits.take(8), hi = (int) bits.take(8);
        need(lo < hi && hi <= alphabet, "nc3z.num: tokens " + lo + " to " + hi + " of a table");
        int size = 1 << log;
        int[] count = new int[alphabet];
        int sum = 0;
        for (int t = lo; t < hi; t++) {
            int e = (int) bits.take(4);
            need(e <= log, "nc3z.num: a count of a table");
            count[t] = (1 << e) + (int) bits.take(e) - 1;
            sum += count[t];
            need(sum <= size, "nc3z.num: counts of a table");
        }
        need(sum == size && count[lo] != 0 && count[hi - 1] != 0, "nc3z.num: counts of a table");
        int[] symbol = new int[size];
        for (int t = lo, p = 0; t < hi; t++) {
            for (int i = 0; i < count[t]; i++) {
                symbol[p] = t;
                p = p + size / 2 + size / 8 + 3 & size - 1;
            }
        }
        for (int s = 0; s < size; s++) {
            int x = count[symbol[s]]++, nb = log - (31 - Integer.numberOfLeadingZeros(x));
            out[at + s] = symbol[s] | nb << 8 | (x << nb) - size << 16;
        }
    }

    private static byte[] tokens(Bits bits, int log, int n, int nv, boolean[] valid, int back, int[] base, int[] ofRow, int middle, int[] tables)
            throws Nc3zException {
        int[] where = null;
        if (valid != null) {
            where = Memory.ints(nv);
            for (int i = 0, k = 0; i < n; i++) {
                if (valid[i]) where[k++] = i;
            }
        }
        byte[] g = Memory.bytes(n);
        int q = (int) ((nv + 3L) / 4);
        int[] start = new int[5];
        for (int l = 0; l < 5; l++) start[l] = (int) Math.min((long) l * q, nv);
        int[] state = new int[4], since = new int[4], last = new int[4];
        for (int l = 0; l < 4; l++) {
            state[l] = (int) bits.take(log);
            int first = start[l] == nv ? n : where == null ? start[l] : where[start[l]];
            since[l] = back == 0 || start[l] == nv ? Integer.MAX_VALUE : (int) Math.min((long) first + back + 1, Integer.MAX_VALUE);
        }
        int all = start[4] - start[3];
        long pos = four(bits, all, start, where, since, state, last, back, base, ofRow, middle, tables, g);
        for (int j = all; j < q; j++) {
            for (int l = 0; l < 4 && start[l] + j < start[l + 1]; l++) {
                int p = where == null ? start[l] + j : where[start[l] + j];
                int row = p < since[l] ? middle : ofRow[above(g, p, back)], e = tables[base[row + last[l]] + state[l]];
                bits.at = pos;
                state[l] = (e >>> 16) + (int) bits.take(e >> 8 & 255);
                pos = bits.at;
                last[l] = e & 255;
                g[p] = (byte) e;
            }
        }
        bits.at = pos;
        bits.finish();
        need((state[0] | state[1] | state[2] | state[3]) == 0, "nc3z.num: a lane of ctx does not end in state 0");
        return g;
    }

    private static int above(byte[] g, int p, int back) {
        return (g[p - back] & 255) + ((g[p - back - 1] & 255) + (g[p - back + 1] & 255) + 1 >> 1) + 1 >> 1;
    }

    /** The first {@code count} elements of each of the four lanes; gives the position in the stream. */
    private static long four(Bits bits, int count, int[] start, int[] where, int[] since, int[] state, int[] last, int back, int[] base, int[] ofRow,
            int middle, int[] tables, byte[] g) throws Nc3zException {
        ByteBuffer w = bits.words;
        long pos = bits.at, end = bits.end;
        int s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3], t0 = 0, t1 = 0;
        int t2 = 0, t3 = 0, a0 = start[0], a1 = start[1], a2 = start[2], a3 = start[3];
        int f0 = since[0], f1 = since[1], f2 = since[2], f3 = since[3];
        for (int j = 0; j < count; j++) {
            if (pos > end) throw bits.corrupt("ends early");
            // four fields of at most 12 bits
            long v = w.getLong((int) (pos >> 3)) >>> (pos & 7);
            int p0 = a0 + j, p1 = a1 + j, p2 = a2 + j, p3 = a3 + j;
            if (where != null) {
                p0 = where[p0];
                p1 = where[p1];
                p2 = where[p2];
                p3 = where[p3];
            }
            int e0 = tables[base[(p0 < f0 ? middle : ofRow[above(g, p0, back)]) + t0] + s0];
            int e1 = tables[base[(p1 < f1 ? middle : ofRow[above(g, p1, back)]) + t1] + s1];
            int e2 = tables[base[(p2 < f2 ? middle : ofRow[above(g, p2, back)]) + t2] + s2];
            int e3 = tables[base[(p3 < f3 ? middle : ofRow[above(g, p3, back)]) + t3] + s3], n0 = e0 >> 8 & 255;
            int n1 = e1 >> 8 & 255, n2 = e2 >> 8 & 255, n3 = e3 >> 8 & 255;
            s0 = (e0 >>> 16) + ((int) v & (1 << n0) - 1);
            v >>>= n0;
            s1 = (e1 >>> 16) + ((int) v & (1 << n1) - 1);
            v >>>= n1;
            s2 = (e2 >>> 16) + ((int) v & (1 << n2) - 1);
            v >>>= n2;
            s3 = (e3 >>> 16) + ((int) v & (1 << n3) - 1);
            pos += n0 + n1 + n2 + n3;
            t0 = e0 & 255;
            t1 = e1 & 255;
            t2 = e2 & 255;
            t3 = e3 & 255;
            g[p0] = (byte) t0;
            g[p1] = (byte) t1;
            g[p2] = (byte) t2;
            g[p3] = (byte) t3;
        }
        if (pos > end) throw bits.corrupt("ends early");
        state[0] = s0;
        state[1] = s1;
        state[2] = s2;
        state[3] = s3;
        last[0] = t0;
        last[1] = t1;
        last[2] = t2;
        last[3] = t3;
        return pos;
    }
}
