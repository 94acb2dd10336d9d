package org.nc3z;

import java.io.IOException;
import java.util.Arrays;

/** Where the bytes of one array are in the classic file (spec/archive.md, section 2). */
abstract class Place {
    /** The array's id by the header's order. */
    final int id;
    /** Bytes of an element. */
    final int element;
    final long[] shape;
    /** Leading elements that are wholly inside the file. */
    final long present;

    private Place(int id, int element, long[] shape, long present) {
        this.id = id;
        this.element = element;
        this.shape = shape;
        this.present = present;
    }

    final long bytes() { return present * element; }

    /** Takes a run of the array's bytes: {@code length} of them from {@code array} on are at {@code file}. */
    interface Run {
        void at(long file, long array, long length) throws IOException;
    }

    /** The runs of bytes {@code first} to {@code end} of the array, ascending. */
    abstract void runs(long first, long end, Run each) throws IOException;

    /** The runs whose bytes are within {@code from} to {@code to} of the file. */
    abstract void within(long from, long to, Run each) throws IOException;

    /** {@code slots} slots of {@code slot} bytes, {@code stride} bytes from one to the next. */
    static final class Slots extends Place {
        final long begin, slot, stride;

        Slots(int id, int element, long[] shape, long begin, long slot, long stride, long slots, long length) {
            super(id, element, shape, present(element, begin, slot, stride, slots, length));
            this.begin = begin;
            this.slot = slot;
            this.stride = stride;
        }

        private static long present(int element, long begin, long slot, long stride, long slots, long length) {
            if (begin < 0 || begin >= length || slot == 0 || slots == 0) return 0;
            long room = length - begin;
            long whole = room < slot ? 0 : slots == 1 ? 1 : slots < 0 ? (room - slot) / stride + 1 : Math.min(slots, (room - slot) / stride + 1);
            long rest = whole == slots || whole > 0 && whole > room / stride ? 0 : Math.max(0, Math.min(slot, room - whole * stride) / element);
            return whole * (slot / element) + rest;
        }

        @Override void runs(long first, long end, Run each) throws IOException {
            while (first < end) {
                long record = first / slot, inside = first - record * slot, n = Math.min(slot - inside, end - first);
                each.at(begin + record * stride + inside, first, n);
                first += n;
            }
        }

        @Override void within(long from, long to, Run each) throws IOException {
            long total = bytes();
            if (total == 0 || to <= begin) return;
            long record = from <= begin || stride == 0 ? 0 : (from - begin) / stride;
            for (long first = record * slot; first < total; record++, first += slot) {
                long at = begin + record * stride;
                if (at >= to) return;
                long n = Math.min(slot, total - first), a = Math.max(at, from), b = Math.min(at + n, to);
                if (a < b) each.at(a, first + (a - at), b - a);
                if (stride == 0) return;
            }
        }
    }

    /** All bytes that nothing else owns, in ascending order. */
    static final class Gap extends Place {
        /** First, end and position in the array of each piece. */
        private final long[] firsts, ends, starts;

        private Gap(long[] firsts, long[] ends, long[] starts, long total) {
            super(Classic.GAP, 1, new long[] {total}, total);
            this.firsts = firsts;
            this.ends = ends;
            this.starts = starts;
        }

        /** {@code owned}: pairs of first and end, in any order. */
        static Gap of(long[][] owned, long length) {
            Arrays.sort(owned, (a, b) -> Long.compare(a[0], b[0]));
            long[][] out = {new long[owned.length + 1], new long[owned.length + 1], new long[owned.length + 1]};
            long at = 0, total = 0;
            int n = 0;
            for (int i = 0; i <= owned.length; i++) {
                long a = i < owned.length ? owned[i][0] : length;
                if (a > at) {
                    out[0][n] = at;
                    out[1][n] = a;
                    out[2][n++] = total;
                    total += a - at;
                }
                at = i < owned.length ? Math.max(at, owned[i][1]) : at;
            }
            return new Gap(Arrays.copyOf(out[0], n), Arrays.copyOf(out[1], n), Arrays.copyOf(out[2], n), total);
        }

        @Override void runs(long first, long end, Run each) throws IOException {
            int i = Arrays.binarySearch(starts, first);
            for (i = i < 0 ? -i - 2 : i; first < end; i++) {
                long inside = first - starts[i], n = Math.min(ends[i] - firsts[i] - inside, end - first);
                each.at(firsts[i] + inside, first, n);
                first += n;
            }
        }

        @Override void within(long from, long to, Run each) throws IOException {
            int i = Arrays.binarySearch(firsts, from);
            for (i = i < 0 ? Math.max(0, -i - 2) : i; i < firsts.length && firsts[i] < to; i++) {
                long a = Math.max(from, firsts[i]), b = Math.min(to, ends[i]);
                if (a < b) each.at(a, starts[i] + (a - firsts[i]), b - a);
            }
        }
    }
}
