package org.nc3z;

import java.nio.ByteBuffer;

/** netCDF's default fill values, {@code NC_FILL_…} (spec/classic.md). */
final class FillValues {
    private FillValues() {}

    /** The value's bytes, big-endian. */
    static byte[] of(DataType type) {
        ByteBuffer out = ByteBuffer.allocate(8);
        switch (type) {
            case BYTE: out.put((byte) -127); break;
            case UBYTE: out.put((byte) 255); break;
            case SHORT: out.putShort((short) -32767); break;
            case USHORT: out.putShort((short) 65535); break;
            case INT: out.putInt(-2147483647); break;
            case UINT: out.putInt(-1); break;
            case FLOAT: out.putFloat(9.9692099683868690e+36f); break;
            case DOUBLE: out.putDouble(9.9692099683868690e+36); break;
            case INT64: out.putLong(-9223372036854775806L); break;
            case UINT64: out.putLong(-2); break;
            default:
        }
        return java.util.Arrays.copyOf(out.array(), type.size());
    }
}
