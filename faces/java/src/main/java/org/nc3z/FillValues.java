package org.nc3z;

/** netCDF's default fill values (spec/classic.md). */
final class FillValues {
    private static final String[] VALUES = {"81", "00", "8001", "80000001", "7cf00000", "479e000000000000", "ff", "ffff", "ffffffff", "8000000000000002", "fffffffffffffffe"};

    private FillValues() {}

    /** The value's bytes, big-endian. */
    static byte[] of(DataType type) {
        byte[] out = new byte[type.size()];
        for (int i = 0; i < out.length; i++) out[i] = (byte) Integer.parseInt(VALUES[type.ordinal()].substring(2 * i, 2 * i + 2), 16);
        return out;
    }
}
