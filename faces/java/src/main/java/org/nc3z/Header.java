package org.nc3z;

import java.nio.charset.StandardCharsets;
import java.util.*;

/** The header of a classic netCDF file (spec/classic.md). */
public final class Header {
    private static final int MAX_NAME = 1 << 20;
    private static final int MAX_RANK = 65536;
    private static final int MAX_VARIABLES = 1 << 24;

    /** A dimension. */
    public static final class Dimension {
        final byte[] rawName;
        /** As in the header, unsigned; 0 for the record dimension. */
        final long stored;
        long length;

        private Dimension(byte[] rawName, long stored) {
            this.rawName = rawName;
            this.stored = stored;
            this.length = stored;
        }

        /** The name; bytes that are not valid UTF-8 are read as ISO 8859-1. */
        public String name() { return text(rawName); }

        /** The length; that of the record dimension is the number of records. */
        public long length() { return length; }

        /** True for a dimension of length 0 in the header. */
        public boolean isRecord() { return stored == 0; }
    }

    /** An attribute. */
    public static final class Attribute {
        final byte[] rawName;
        final DataType type;
        final byte[] values;

        private Attribute(byte[] rawName, DataType type, byte[] values) {
            this.rawName = rawName;
            this.type = type;
            this.values = values;
        }

        /** The name. */
        public String name() { return Header.text(rawName); }

        /** The type. */
        public DataType type() { return type; }

        /** The number of values. */
        public int count() { return values.length / type.size(); }

        /** The values, big-endian. */
        public byte[] bytes() { return values.clone(); }

        /** The text of a char attribute, up to its first NUL at the end. */
        public String text() {
            int n = values.length;
            while (n > 0 && values[n - 1] == 0) n--;
            return Header.text(java.util.Arrays.copyOf(values, n));
        }
    }

    /** A variable. */
    public static final class Variable {
        final int id;
        final byte[] rawName;
        final int[] dims;
        final List<Attribute> attributes;
        final DataType type;
        /** Unsigned. */
        final long begin;
        long[] shape;
        boolean record;

        private Variable(int id, byte[] rawName, int[] dims, List<Attribute> attributes, DataType type, long begin) {
            this.id = id;
            this.rawName = rawName;
            this.dims = dims;
            this.attributes = attributes;
            this.type = type;
            this.begin = begin;
        }

        /** The number in the header, from 0. */
        public int number() { return id; }

        /** The name. */
        public String name() { return text(rawName); }

        /** Numbers of the dimensions. */
        public int[] dimensions() { return dims.clone(); }

        /** The attributes. */
        public List<Attribute> attributes() { return attributes; }

        /** The attribute of a name, or null. */
        public Attribute attribute(String name) { return find(attributes, name); }

        /** The type. */
        public DataType type() { return type; }

        /** Lengths of the dimensions. */
        public long[] shape() { return shape.clone(); }

        /** True if its first dimension is the record dimension. */
        public boolean isRecord() { return record; }
    }

    final int version;
    /** As in the header, unsigned. */
    final long numrecs;
    final boolean streaming;
    final List<Dimension> dimensions;
    final List<Attribute> attributes;
    final List<Variable> variables;
    /** Bytes of the header. */
    final int length;

    private final byte[] d;
    private final int wide;
    private int at;

    /** Parses the header at the beginning of the bytes. {@code most} is the limit for numbers of variables. */
    Header(byte[] data, long most) throws Nc3zException {
        d = data;
        need(data.length >= 4 && data[0] == 'C' && data[1] == 'D' && data[2] == 'F' && (data[3] == 1 || data[3] == 2 || data[3] == 5), "no magic of CDF-1, CDF-2 or CDF-5");
        version = data[3];
        at = 4;
        wide = version == 5 ? 8 : 4;
        numrecs = number(wide);
        streaming = numrecs == (wide == 8 ? -1L : 0xFFFFFFFFL);
        List<Dimension> dims = new ArrayList<>();
        for (long i = list(10); i > 0; i--) dims.add(new Dimension(name(), number(wide)));
        dimensions = Collections.unmodifiableList(dims);
        attributes = attributeList();
        List<Variable> vars = new ArrayList<>();
        long count = list(11);
        if (count > Math.min(MAX_VARIABLES, most)) throw Nc3zException.limit("classic header: " + count + " variables");
        for (int i = 0; i < count; i++) {
            byte[] name = name();
            long rank = number(wide);
            need(rank >= 0 && rank <= (d.length - at) / wide, "a rank of " + Long.toUnsignedString(rank));
            if (rank > MAX_RANK) throw Nc3zException.limit("classic header: a variable of " + rank + " dimensions");
            int[] numbers = new int[(int) rank];
            for (int k = 0; k < rank; k++) {
                long number = number(wide);
                need(number >= 0 && number < dims.size(), "dimension " + Long.toUnsignedString(number) + " of " + dims.size());
                numbers[k] = (int) number;
            }
            List<Attribute> own = attributeList();
            DataType type = type();
            number(wide);
            vars.add(new Variable(i, name, numbers, own, type, number(version == 1 ? 4 : 8)));
        }
        variables = Collections.unmodifiableList(vars);
        length = at;
    }

    private static Nc3zException bad(String why, int at) { return Nc3zException.corrupt("classic header, byte " + at + ": " + why); }

    private void need(boolean truth, String why) throws Nc3zException {
        if (!truth) throw bad(why, at);
    }

    private long number(int size) throws Nc3zException {
        need(size <= d.length - at, "it ends early");
        long out = 0;
        for (int i = 0; i < size; i++) out = out << 8 | d[at++] & 255;
        return out;
    }

    private byte[] padded(long count) throws Nc3zException {
        need(count >= 0 && count <= d.length - at && Bytes.roundUp(count, 4) <= d.length - at, "it ends early: " + Long.toUnsignedString(count) + " bytes expected");
        byte[] out = java.util.Arrays.copyOfRange(d, at, at + (int) count);
        at += (int) Bytes.roundUp(count, 4);
        return out;
    }

    private byte[] name() throws Nc3zException {
        long count = number(wide);
        if (count > MAX_NAME) throw Nc3zException.limit("classic header: a name of " + count + " bytes");
        return padded(count);
    }

    private long list(int tag) throws Nc3zException {
        long found = number(4), count = number(wide);
        need(found == tag || found == 0 && count == 0, "list tag " + found + ", expected " + tag);
        need(count >= 0 && count <= (d.length - at) / 8, "a list of " + Long.toUnsignedString(count) + " entries");
        return count;
    }

    private DataType type() throws Nc3zException {
        long code = number(4);
        need(code >= 1 && code <= (version == 5 ? 11 : 6), "type " + code);
        return DataType.of((int) code);
    }

    private List<Attribute> attributeList() throws Nc3zException {
        List<Attribute> out = new ArrayList<>();
        for (long i = list(12); i > 0; i--) {
            byte[] name = name();
            DataType type = type();
            long count = number(wide);
            need(count >= 0 && count <= d.length - at, "an attribute of " + Long.toUnsignedString(count) + " values");
            out.add(new Attribute(name, type, padded(count * type.size())));
        }
        return Collections.unmodifiableList(out);
    }

    /** 1, 2 or 5 for CDF-1, CDF-2 and CDF-5. */
    public int version() { return version; }

    /** The dimensions. */
    public List<Dimension> dimensions() { return dimensions; }

    /** The global attributes. */
    public List<Attribute> attributes() { return attributes; }

    /** The variables. */
    public List<Variable> variables() { return variables; }

    /** The variable of a name. */
    public Variable variable(String name) throws Nc3zException {
        for (Variable v : variables) {
            if (v.name().equals(name)) return v;
        }
        StringBuilder names = new StringBuilder();
        for (int i = 0; i < variables.size() && i < 20; i++) names.append(i == 0 ? "" : ", ").append(variables.get(i).name());
        throw Nc3zException.argument("no variable `" + name + "`; there are " + names + (variables.size() > 20 ? ", …" : ""));
    }

    static Attribute find(List<Attribute> list, String name) {
        for (Attribute a : list) {
            if (a.name().equals(name)) return a;
        }
        return null;
    }

    static String text(byte[] raw) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(java.nio.ByteBuffer.wrap(raw)).toString();
        } catch (java.nio.charset.CharacterCodingException e) {
            return new String(raw, StandardCharsets.ISO_8859_1);
        }
    }
}
