package org.nc3z;

import java.math.BigInteger;
import java.util.*;

/** A classic file as arrays: what follows from the bytes of its header and its length (spec/archive.md, section 2). */
final class Classic {
    static final int DEFINITIONS = 0x40000000;
    static final int PADDING = 0x80000000;
    static final int GAP = 0xC0000000;

    final Header header;
    final long length;
    /** Unsigned. */
    final long records;
    /** Each variable's place, whoever owns the bytes. */
    final Place[] places;
    /** The arrays that have tiles, by id in the header's order, ascending as unsigned numbers. */
    final Map<Integer, Place> arrays = new TreeMap<>(Integer::compareUnsigned);
    /** The ids of paddings. */
    final List<Integer> paddings = new ArrayList<>();
    final boolean regular;
    /** Of the region of regular records. */
    final long first, stride;

    Classic(Header header, long length) {
        this.header = header;
        this.length = length;
        List<Header.Variable> recordVariables = new ArrayList<>();
        for (Header.Variable v : header.variables) {
            v.record = v.dims.length > 0 && header.dimensions.get(v.dims[0]).isRecord();
            if (v.record) recordVariables.add(v);
        }
        boolean lone = recordVariables.size() == 1;
        long n = header.streaming ? 0 : header.numrecs, b0 = -1;
        for (Header.Variable v : recordVariables) b0 = Long.compareUnsigned(v.begin, b0) < 0 ? v.begin : b0;
        BigInteger r = stride(recordVariables, n, lone);
        if (header.streaming) {
            n = r.signum() == 0 || b0 < 0 || b0 >= length ? 0 : BigInteger.valueOf(length - b0).divide(r).longValue();
            r = stride(recordVariables, n, lone);
        }
        records = n;
        first = b0;
        stride = r.bitLength() > 63 ? Long.MAX_VALUE : r.longValue();
        for (Header.Dimension d : header.dimensions) d.length = d.isRecord() ? n : d.stored;
        List<long[]> owned = new ArrayList<>();
        TreeMap<Long, Long> taken = new TreeMap<>();
        owned.add(new long[] {0, header.length});
        taken.put(0L, (long) header.length);
        places = new Place[header.variables.size()];
        for (Header.Variable v : header.variables) {
            v.shape = new long[v.dims.length];
            for (int k = 0; k < v.dims.length; k++) v.shape[k] = header.dimensions.get(v.dims[k]).length;
            long s = size(v, n);
            places[v.id] = v.record ? new Place.Slots(v.id, v.type.size(), v.shape, v.begin, s, stride, n, length)
                : new Place.Slots(v.id, v.type.size(), v.shape, v.begin, s, 0, 1, length);
            if (!v.record) {
                long a = v.begin < 0 ? length : Math.min(v.begin, length);
                long b = v.begin < 0 ? length : Math.min(length, Bytes.plus(v.begin, s));
                if (meets(taken, a, b)) continue;
                if (a < b) taken.put(a, b);
                arrays.put(v.id, places[v.id]);
                if (places[v.id].present > 0) {
                    owned.add(new long[] {v.begin, v.begin + places[v.id].bytes()});
                }
            }
        }
        regular = isRegular(recordVariables, n, lone, r, taken);
        if (regular) {
            long whole = first < 0 || first >= length ? 0 : (length - first) / stride;
            whole = n < 0 ? whole : Math.min(n, whole);
            for (Header.Variable v : recordVariables) {
                long s = size(v, n), p = padded(s, lone);
                List<Place> parts = new ArrayList<>();
                parts.add(places[v.id]);
                if (p > s) {
                    parts.add(new Place.Slots(PADDING | v.id, 1, new long[] {Bytes.times(n, p - s)}, Bytes.plus(v.begin, s), p - s, stride, n, length));
                    paddings.add(PADDING | v.id);
                }
                for (Place place : parts) {
                    arrays.put(place.id, place);
                    Place.Slots slots = (Place.Slots) place;
                    long left = place.bytes() - Bytes.times(whole, slots.slot);
                    if (left > 0) {
                        long at = slots.begin + whole * stride;
                        owned.add(new long[] {at, at + left});
                    }
                }
            }
            if (whole > 0) {
                owned.add(new long[] {first, first + whole * stride});
            }
        }
        arrays.put(GAP, Place.Gap.of(owned.toArray(new long[0][]), length));
    }

    private static boolean meets(TreeMap<Long, Long> taken, long a, long b) {
        if (a >= b) return false;
        Map.Entry<Long, Long> before = taken.lowerEntry(b);
        return before != null && before.getValue() > a;
    }

    private boolean isRegular(List<Header.Variable> variables, long n, boolean lone, BigInteger r, TreeMap<Long, Long> taken) {
        if (r.signum() == 0 || r.bitLength() > 64 || n == 0) return false;
        List<Header.Variable> sorted = new ArrayList<>(variables);
        sorted.sort((x, y) -> x.begin != y.begin ? Long.compareUnsigned(x.begin, y.begin) : Integer.compare(x.id, y.id));
        BigInteger at = unsigned(first);
        for (Header.Variable v : sorted) {
            if (!unsigned(v.begin).equals(at)) return false;
            at = at.add(exactPadded(v, n, lone));
        }
        return first < 0 || first >= length || !meets(taken, first, Math.min(length, Bytes.plus(first, Bytes.times(n, stride))));
    }

    private static BigInteger unsigned(long x) { return x >= 0 ? BigInteger.valueOf(x) : BigInteger.valueOf(x).add(BigInteger.ONE.shiftLeft(64)); }

    private BigInteger stride(List<Header.Variable> variables, long n, boolean lone) {
        BigInteger out = BigInteger.ZERO;
        for (Header.Variable v : variables) out = out.add(exactPadded(v, n, lone));
        return out;
    }

    private BigInteger exactPadded(Header.Variable v, long n, boolean lone) {
        long s = size(v, n);
        if (s < Long.MAX_VALUE - 8) return BigInteger.valueOf(padded(s, lone));
        BigInteger exact = BigInteger.valueOf(v.type.size());
        for (int k = 1; k < v.dims.length; k++) {
            Header.Dimension d = header.dimensions.get(v.dims[k]);
            exact = exact.multiply(unsigned(d.isRecord() ? n : d.stored));
        }
        return lone ? exact : exact.add(BigInteger.valueOf(3)).shiftRight(2).shiftLeft(2);
    }

    /** {@code s}: bytes of a fixed variable, or of a record; at most Long.MAX_VALUE. */
    private long size(Header.Variable v, long n) {
        long out = v.type.size();
        boolean zero = false;
        for (int k = v.record ? 1 : 0; k < v.dims.length; k++) {
            Header.Dimension d = header.dimensions.get(v.dims[k]);
            long length = d.isRecord() ? n : d.stored;
            zero |= length == 0;
            out = Bytes.times(out, length);
        }
        return zero ? 0 : out;
    }

    private static long padded(long s, boolean lone) { return lone || s >= Long.MAX_VALUE - 8 ? s : Bytes.roundUp(s, 4); }
}
