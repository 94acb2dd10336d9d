package org.nc3z;

import static org.nc3z.Nc3zException.argument;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;

/** A classic netCDF file that can be read: as an {@link Archive} or as itself ({@link ClassicFile}). Several threads may read at the same time. */
public abstract class Dataset implements Closeable {
    Dataset() {}

    /** Opens an archive or a classic file, whichever the bytes are. */
    public static Dataset open(Source source) throws IOException {
        byte[] magic = source.bytes(0, (int) Math.min(8, source.length()));
        return Archive.isArchive(magic) ? Archive.open(source) : ClassicFile.open(source);
    }

    abstract Classic classic();

    /** Bytes {@code first} to {@code first + count} of a variable's present values. */
    abstract void values(int variable, long first, byte[] into, int at, int count) throws IOException;

    /** Dimensions, attributes and variables. */
    public Header header() { return classic().header; }

    /** The length of the classic file. */
    public long originalLength() { return classic().length; }

    /** The number of leading values of a variable that are wholly inside the file: all of them, unless it was cut. */
    public long present(Header.Variable v) { return classic().places[v.id].present; }

    /** The whole variable, big-endian and row-major. */
    public byte[] read(Header.Variable v) throws IOException {
        return read(v, new long[v.shape.length], v.shape, null);
    }

    /** A hyperslab, big-endian and row-major. {@code stride} may be null: all ones. */
    public byte[] read(Header.Variable v, long[] start, long[] count, long[] stride) throws IOException {
        int rank = v.shape.length;
        long[] step = new long[rank];
        long elements = 1;
        if (start.length != rank || count.length != rank || stride != null && stride.length != rank) {
            throw argument(v.name() + " has " + rank + " dimensions");
        }
        for (int k = 0; k < rank; k++) {
            step[k] = stride == null ? 1 : stride[k];
            if (start[k] < 0 || count[k] < 0 || step[k] < 1 || start[k] > v.shape[k] || count[k] > 0 && (count[k] - 1 > (v.shape[k] - 1 - start[k]) / step[k])) {
                throw argument("dimension " + k + " of " + v.name() + ": start " + start[k] + ", count " + count[k] + ", stride " + step[k] + " are not within its length " + v.shape[k]);
            }
            elements = Bytes.times(elements, count[k]);
        }
        int size = v.type.size();
        byte[] out = Memory.bytes(Bytes.times(elements, size));
        if (elements == 0) return out;
        // dimensions from `inner` on are one run of elements; the one before may be a run, too
        int inner = rank;
        long run = 1;
        while (inner > 0 && step[inner - 1] == 1 && count[inner - 1] == v.shape[inner - 1]) {
            inner--;
            run *= count[inner];
        }
        long unit = run, last = 1, lastStep = 1;
        if (inner > 0) {
            inner--;
            last = count[inner];
            lastStep = step[inner];
        }
        long[] weight = new long[rank];
        long w = 1;
        for (int k = rank - 1; k >= 0; k--) {
            weight[k] = w;
            w = Bytes.times(w, v.shape[k]);
        }
        long[] index = new long[inner];
        long end = present(v);
        byte[] row = null;
        int at = 0;
        while (true) {
            long first = rank > inner ? start[inner] * weight[inner] : 0;
            for (int k = 0; k < inner; k++) first += (start[k] + index[k] * step[k]) * weight[k];
            long span = ((last - 1) * lastStep + 1) * unit;
            if (first + span > end) {
                throw Nc3zException.corrupt(v.name() + ": the file ends after " + end + " of its values, before element " + (first + span - 1));
            }
            if (lastStep == 1) {
                int bytes = (int) (span * size);
                values(v.id, first * size, out, at, bytes);
                at += bytes;
            } else if (lastStep <= 64 && span * size <= 1 << 22) {
                int bytes = (int) (span * size);
                row = row == null ? Memory.bytes(bytes) : row;
                values(v.id, first * size, row, 0, bytes);
                int piece = (int) unit * size;
                for (int i = 0; i < last; i++, at += piece) System.arraycopy(row, (int) (i * lastStep * piece), out, at, piece);
            } else {
                int piece = (int) unit * size;
                for (long i = 0; i < last; i++, at += piece) values(v.id, (first + i * lastStep * unit) * size, out, at, piece);
            }
            int k = inner - 1;
            while (k >= 0 && ++index[k] == count[k]) index[k--] = 0;
            if (k < 0) return out;
        }
    }

    /** Values as an array of Java's: bytes for all types of 8 bits, and otherwise short[], int[], long[], float[] or double[]. */
    public static Object javaArray(DataType type, byte[] values) {
        ByteBuffer in = ByteBuffer.wrap(values);
        int n = values.length / type.size();
        switch (type) {
            case FLOAT: float[] floats = new float[n]; in.asFloatBuffer().get(floats); return floats;
            case DOUBLE: double[] doubles = new double[n]; in.asDoubleBuffer().get(doubles); return doubles;
            case SHORT:
            case USHORT: short[] shorts = new short[n]; in.asShortBuffer().get(shorts); return shorts;
            case INT:
            case UINT: int[] ints = new int[n]; in.asIntBuffer().get(ints); return ints;
            case INT64:
            case UINT64: long[] longs = new long[n]; in.asLongBuffer().get(longs); return longs;
            default: return values;
        }
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (java.security.NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
