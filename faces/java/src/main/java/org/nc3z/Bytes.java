package org.nc3z;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32;

/** A cursor over bytes, little-endian, and the small functions of the format that read or make bytes. */
final class Bytes {
    final byte[] data;
    final int end;
    int at;
    private final String what;

    Bytes(byte[] data, String what) {
        this(data, 0, data.length, what);
    }

    Bytes(byte[] data, int from, int to, String what) {
        this.data = data;
        this.at = from;
        this.end = to;
        this.what = what;
    }

    Nc3zException corrupt(String why) {
        return Nc3zException.corrupt(what + ": " + why);
    }

    int left() { return end - at; }

    /** Moves on by {@code n} bytes and gives where they began. */
    int skip(long n) throws Nc3zException {
        if (n < 0 || n > end - at) throw corrupt("ends early: " + n + " bytes expected at " + at + ", found " + (end - at));
        at += (int) n;
        return at - (int) n;
    }

    byte[] take(long n) throws Nc3zException {
        int from = skip(n);
        return Arrays.copyOfRange(data, from, at);
    }

    byte[] rest() throws Nc3zException {
        return take(end - at);
    }

    int u8() throws Nc3zException {
        return data[skip(1)] & 255;
    }

    int u16() throws Nc3zException {
        return u16(data, skip(2));
    }

    int i32() throws Nc3zException {
        return i32(data, skip(4));
    }

    long u32() throws Nc3zException {
        return i32() & 0xFFFFFFFFL;
    }

    long i64() throws Nc3zException {
        return i64(data, skip(8));
    }

    /** LEB128 of at most 64 bits, in its shortest form; a value of 2^63 and more is negative. */
    long varint() throws Nc3zException {
        long value = 0;
        for (int i = 0; i < 10; i++) {
            int b = u8();
            value |= (long) (b & 127) << 7 * i;
            if (b < 128) {
                if (b == 0 && i > 0) throw corrupt("a varint is not in its shortest form");
                if (i == 9 && b > 1) throw corrupt("a varint of more than 64 bits");
                return value;
            }
        }
        throw corrupt("a varint of more than 10 bytes");
    }

    /** A varint of at most {@code most}, which is not negative. */
    long varint(long most) throws Nc3zException {
        long value = varint();
        if (value < 0 || value > most) throw corrupt("the number " + Long.toUnsignedString(value) + " exceeds " + most);
        return value;
    }

    int count(long most) throws Nc3zException {
        return (int) varint(Math.min(most, Integer.MAX_VALUE));
    }

    void finish() throws Nc3zException {
        if (at != end) throw corrupt((end - at) + " bytes too many");
    }

    static int u16(byte[] d, int at) { return d[at] & 255 | (d[at + 1] & 255) << 8; }

    static int i32(byte[] d, int at) { return u16(d, at) | u16(d, at + 2) << 16; }

    static long i64(byte[] d, int at) { return i32(d, at) & 0xFFFFFFFFL | (long) i32(d, at + 4) << 32; }

    static ByteBuffer little(byte[] d) { return ByteBuffer.wrap(d).order(ByteOrder.LITTLE_ENDIAN); }

    static boolean starts(byte[] d, int at, int b0, int b1, int b2, int b3) {
        return at >= 0 && at + 4 <= d.length && (d[at] & 255) == b0 && (d[at + 1] & 255) == b1 && (d[at + 2] & 255) == b2 && (d[at + 3] & 255) == b3;
    }

    static boolean zeros(byte[] d, int from, int to) {
        for (int i = from; i < to; i++) {
            if (d[i] != 0) return false;
        }
        return true;
    }

    static int crc(byte[] d, int from, int count) {
        CRC32 crc = new CRC32();
        crc.update(d, from, count);
        return (int) crc.getValue();
    }

    static int crc(byte[] d) { return crc(d, 0, d.length); }

    /** spec/archive.md, "Salt". */
    static int saltedCrc(byte[] salt, long offset, byte[] d, int from, int count) {
        CRC32 crc = new CRC32();
        crc.update(salt, 0, 8);
        crc.update(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, offset).array(), 0, 8);
        crc.update(d, from, count);
        return (int) crc.getValue();
    }

    static long roundUp(long n, int m) { return (n + m - 1) / m * m; }

    static String hex(byte[] d) {
        StringBuilder out = new StringBuilder();
        for (byte b : d) out.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
        return out.toString();
    }

    /** Product of what is not negative, at most Long.MAX_VALUE; lengths of 2^63 and more (negative here) count as that. */
    static long times(long a, long b) {
        if (a == 0 || b == 0) return 0;
        return a < 0 || b < 0 || a > Long.MAX_VALUE / b ? Long.MAX_VALUE : a * b;
    }

    static long plus(long a, long b) { return a < 0 || b < 0 || a + b < 0 ? Long.MAX_VALUE : a + b; }

    static byte[] unshuffle(byte[] in, int from, int count, long size) {
        byte[] out = new byte[count];
        int n = (int) Math.min(size, Integer.MAX_VALUE), rows = count / n;
        if (n == 4) {
            for (int i = 0, o = 0, a = from, b = a + rows, c = b + rows, d = c + rows; i < rows; i++, o += 4) {
                out[o] = in[a + i];
                out[o + 1] = in[b + i];
                out[o + 2] = in[c + i];
                out[o + 3] = in[d + i];
            }
        } else if (rows > 0) {
            for (int k = 0, place = from; k < n; k++) {
                for (int i = 0, o = k; i < rows; i++, o += n) out[o] = in[place++];
            }
        }
        System.arraycopy(in, from + rows * n, out, rows * n, count - rows * n);
        return out;
    }
}
