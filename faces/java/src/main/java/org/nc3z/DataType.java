package org.nc3z;

/** The types of classic netCDF files (spec/classic.md). */
public enum DataType {
    /** Signed, 8 bits. */
    BYTE(1, false, false),
    /** Text, 8 bits. */
    CHAR(1, false, true),
    /** Signed, 16 bits. */
    SHORT(2, false, false),
    /** Signed, 32 bits. */
    INT(4, false, false),
    /** IEEE 754 binary32. */
    FLOAT(4, true, false),
    /** IEEE 754 binary64. */
    DOUBLE(8, true, false),
    /** Unsigned, 8 bits; from here on only in CDF-5. */
    UBYTE(1, false, true),
    /** Unsigned, 16 bits. */
    USHORT(2, false, true),
    /** Unsigned, 32 bits. */
    UINT(4, false, true),
    /** Signed, 64 bits. */
    INT64(8, false, false),
    /** Unsigned, 64 bits. */
    UINT64(8, false, true);

    private static final DataType[] ALL = values();
    private final int size;
    private final boolean real, unsigned;

    DataType(int size, boolean real, boolean unsigned) {
        this.size = size;
        this.real = real;
        this.unsigned = unsigned;
    }

    /** Bytes of an element. */
    public int size() { return size; }

    /** True for float and double. */
    public boolean isReal() { return real; }

    /** True for char and the unsigned integers. */
    public boolean isUnsigned() { return unsigned; }

    /** The number of the type in headers, from 1. */
    public int code() { return ordinal() + 1; }

    static DataType of(int code) { return ALL[code - 1]; }

    /** The name in CDL. */
    public String cdl() { return name().toLowerCase(java.util.Locale.ROOT); }
}
