package org.nc3z;

import java.nio.ByteBuffer;

/** A stream of bits, lowest first (spec/num.md, section 1), over a copy with zeros behind it. */
final class Bits {
    final ByteBuffer words;
    final long end;
    long at;
    private final String what;

    Bits(byte[] data, int from, int to, String what) {
        byte[] copy = new byte[to - from + 16];
        System.arraycopy(data, from, copy, 0, to - from);
        words = Bytes.little(copy);
        end = 8L * (to - from);
        this.what = what;
    }

    Nc3zException corrupt(String why) {
        return Nc3zException.corrupt("nc3z.num: " + what + ": " + why);
    }

    /** A field of at most 64 bits. */
    long take(int n) throws Nc3zException {
        if (n > end - at) throw corrupt("ends early");
        if (n > 56) {
            long low = take(32);
            return low | take(n - 32) << 32;
        }
        long out = words.getLong((int) (at >> 3)) >>> (at & 7) & (1L << n) - 1;
        at += n;
        return out;
    }

    /** All bytes are used, and the unused bits of the last one are zero. */
    void finish() throws Nc3zException {
        if (at > end || end - at >= 8) throw corrupt("not of the length that it needs");
        if (at < end && (words.get((int) (at >> 3)) & 255) >> (at & 7) != 0) throw corrupt("unused bits are not zero");
    }
}
