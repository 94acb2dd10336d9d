package org.nc3z.cdm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.nc3z.Archive;
import org.nc3z.ClassicFile;
import org.nc3z.Dataset;
import org.nc3z.Header;
import org.nc3z.Source;
import ucar.ma2.Array;
import ucar.ma2.DataType;
import ucar.ma2.IndexIterator;
import ucar.ma2.InvalidRangeException;
import ucar.ma2.Section;
import ucar.nc2.Attribute;
import ucar.nc2.Dimension;
import ucar.nc2.NetcdfFile;
import ucar.nc2.Variable;
import ucar.nc2.iosp.AbstractIOServiceProvider;
import ucar.nc2.util.CancelTask;
import ucar.unidata.io.RandomAccessFile;

/**
 * netcdf-java's way to nc3z archives and to CDF-5, found by {@code META-INF/services}. All bytes come through the library's {@code RandomAccessFile},
 * so that whatever it can open is read in place. The message {@code nc3z.version=N} before opening chooses a version.
 */
public final class Nc3zIosp extends AbstractIOServiceProvider {
    private static final String VERSION = "nc3z.version=";
    private static final byte[] ARCHIVE = {(byte) 0x89, 'N', 'C', '3', 'Z', '\r', '\n', 0x1a};

    private final Object lock = new Object();
    private Dataset data;
    private long length, version;

    /** Whatever the file is, this reads 8 bytes and does not throw. */
    @Override public boolean isValidFile(RandomAccessFile file) {
        try {
            byte[] magic = new byte[8];
            if (file.length() < 8) return false;
            file.seek(0);
            file.readFully(magic);
            return java.util.Arrays.equals(magic, ARCHIVE) || magic[0] == 'C' && magic[1] == 'D' && magic[2] == 'F' && magic[3] == 5;
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    @Override public void open(RandomAccessFile file, NetcdfFile nc, CancelTask cancel) throws IOException {
        raf = file;
        location = file.getLocation();
        ncfile = nc;
        length = file.length();
        Source source = new Source() {
            @Override public long length() { return length; }

            @Override public void read(long offset, byte[] into, int at, int count) throws IOException {
                synchronized (lock) {
                    if (raf == null) throw new IOException(location + " is released; reacquire it before reading");
                    raf.seek(offset);
                    raf.readFully(into, at, count);
                }
            }

            @Override public String toString() { return location; }
        };
        byte[] magic = source.bytes(0, (int) Math.min(8, length));
        Archive.Options options = new Archive.Options();
        data = java.util.Arrays.equals(magic, ARCHIVE) ? Archive.open(source, version > 0 ? options.version(version) : options) : ClassicFile.open(source);
        try {
            build(data.header(), nc);
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new IOException(location + ": netcdf-java does not take its header: " + e.getMessage(), e);
        }
    }

    private static void build(Header header, NetcdfFile nc) throws IOException {
        List<Dimension> dimensions = new ArrayList<>();
        for (Header.Dimension d : header.dimensions()) {
            if (d.length() < 0 || d.length() > Integer.MAX_VALUE) {
                throw new IOException("dimension " + d.name() + " of length " + Long.toUnsignedString(d.length()) + ": netcdf-java has at most " + Integer.MAX_VALUE);
            }
            Dimension made = new Dimension(d.name(), (int) d.length(), true, d.isRecord(), false);
            dimensions.add(made);
            nc.addDimension(null, made);
        }
        for (Header.Attribute a : header.attributes()) nc.addAttribute(null, attribute(a));
        for (Header.Variable v : header.variables()) {
            Variable made = new Variable(nc, nc.getRootGroup(), null, v.name());
            List<Dimension> own = new ArrayList<>();
            for (int d : v.dimensions()) own.add(dimensions.get(d));
            made.setDataType(type(v.type()));
            made.setDimensions(own);
            for (Header.Attribute a : v.attributes()) made.addAttribute(attribute(a));
            if (v.type().isUnsigned() && DataType.getType("ubyte") == null && v.type() != org.nc3z.DataType.CHAR) made.addAttribute(new Attribute("_Unsigned", "true"));
            made.setSPobject(v.number());
            nc.addVariable(null, made);
        }
    }

    /** The library's type; the signed one where it has none that are unsigned, as before version 5. */
    private static DataType type(org.nc3z.DataType type) {
        switch (type) {
            case BYTE: return DataType.BYTE;
            case CHAR: return DataType.CHAR;
            case SHORT: return DataType.SHORT;
            case INT: return DataType.INT;
            case FLOAT: return DataType.FLOAT;
            case DOUBLE: return DataType.DOUBLE;
            case INT64: return DataType.LONG;
            case UBYTE: return either("ubyte", DataType.BYTE);
            case USHORT: return either("ushort", DataType.SHORT);
            case UINT: return either("uint", DataType.INT);
            default: return either("ulong", DataType.LONG);
        }
    }

    private static DataType either(String unsigned, DataType signed) {
        DataType found = DataType.getType(unsigned);
        return found == null ? signed : found;
    }

    private static Attribute attribute(Header.Attribute a) {
        if (a.type() == org.nc3z.DataType.CHAR) return new Attribute(a.name(), a.text());
        DataType type = type(a.type());
        return a.count() == 0 ? new Attribute(a.name(), type) : new Attribute(a.name(), array(type, new int[] {a.count()}, Dataset.javaArray(a.type(), a.bytes())));
    }

    private static Array array(DataType type, int[] shape, Object values) {
        if (type != DataType.CHAR) return Array.factory(type, shape, values);
        byte[] bytes = (byte[]) values;
        Array out = Array.factory(type, shape);
        IndexIterator each = out.getIndexIterator();
        for (byte b : bytes) each.setCharNext((char) (b & 255));
        return out;
    }

    private static long[] longs(int[] values) {
        long[] out = new long[values.length];
        for (int k = 0; k < out.length; k++) out[k] = values[k];
        return out;
    }

    @Override public Array readData(Variable variable, Section section) throws IOException, InvalidRangeException {
        if (!(variable.getSPobject() instanceof Integer)) throw new IOException(variable.getFullName() + ": not a variable of " + location);
        Header.Variable v = data.header().variables().get((Integer) variable.getSPobject());
        Section s = Section.fill(section, variable.getShape());
        byte[] values = data.read(v, longs(s.getOrigin()), longs(s.getShape()), longs(s.getStride()));
        return array(type(v.type()), s.getShape(), Dataset.javaArray(v.type(), values));
    }

    @Override public Object sendIospMessage(Object message) {
        if (message instanceof String && ((String) message).startsWith(VERSION)) {
            version = Long.parseLong(((String) message).substring(VERSION.length()));
            return true;
        }
        return super.sendIospMessage(message);
    }

    @Override public void release() throws IOException {
        synchronized (lock) { super.release(); }
    }

    @Override public void reacquire() throws IOException {
        synchronized (lock) {
            super.reacquire();
            if (raf.length() != length) throw new IOException(location + " has changed since it was opened: " + raf.length() + " bytes, expected " + length);
        }
    }

    @Override public void close() throws IOException {
        synchronized (lock) { super.close(); }
    }

    @Override public String getFileTypeId() { return data instanceof Archive ? "nc3z" : "NetCDF"; }

    @Override public String getFileTypeDescription() { return data instanceof Archive ? "nc3z archive of a classic netCDF file" : "NetCDF-3/CDM"; }
}
