package org.nc3z;

import java.io.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Bytes at positions. Several threads may read at the same time. */
public interface Source extends Closeable {
    /** The number of bytes. */
    long length() throws IOException;

    /** Fills {@code into[at .. at + count)} with the bytes from {@code offset} on; an {@link EOFException} if there are fewer. */
    void read(long offset, byte[] into, int at, int count) throws IOException;

    @Override default void close() throws IOException {}

    /** A file. */
    static Source of(Path path) throws IOException {
        FileChannel file = FileChannel.open(path, StandardOpenOption.READ);
        return new Source() {
            @Override public long length() throws IOException {
                return file.size();
            }

            @Override public void read(long offset, byte[] into, int at, int count) throws IOException {
                ByteBuffer buffer = ByteBuffer.wrap(into, at, count);
                while (buffer.hasRemaining()) {
                    int n = file.read(buffer, offset + buffer.position() - at);
                    if (n < 0) throw new EOFException(path + " ends at " + file.size() + ", before " + (offset + count));
                }
            }

            @Override public void close() throws IOException {
                file.close();
            }

            @Override public String toString() { return path.toString(); }
        };
    }

    /** A channel. Closing the source closes it. */
    static Source of(SeekableByteChannel channel) {
        return new Source() {
            @Override public long length() throws IOException {
                return channel.size();
            }

            @Override public synchronized void read(long offset, byte[] into, int at, int count) throws IOException {
                ByteBuffer buffer = ByteBuffer.wrap(into, at, count);
                channel.position(offset);
                while (buffer.hasRemaining()) {
                    if (channel.read(buffer) < 0) throw new EOFException("the channel ends before " + (offset + count));
                }
            }

            @Override public void close() throws IOException {
                channel.close();
            }
        };
    }

    /** Bytes in memory, which are not copied. */
    static Source of(byte[] data) {
        return new Source() {
            @Override public long length() { return data.length; }

            @Override public void read(long offset, byte[] into, int at, int count) throws IOException {
                if (offset < 0 || count < 0 || offset > data.length - count) {
                    throw new EOFException("the bytes end at " + data.length + ", before " + (offset + count));
                }
                System.arraycopy(data, (int) offset, into, at, count);
            }
        };
    }

    /** A part of another source, such as a member of a bundle. Closing it leaves the other one open. */
    static Source part(Source whole, long first, long length) {
        return new Source() {
            @Override public long length() { return length; }

            @Override public void read(long offset, byte[] into, int at, int count) throws IOException {
                if (offset < 0 || count < 0 || offset > length - count) {
                    throw new EOFException("the part ends at " + length + ", before " + (offset + count));
                }
                whole.read(first + offset, into, at, count);
            }
        };
    }

    /** The same bytes; the last {@code tail} of them are read once. Opening an archive then takes two reads in most cases. */
    static Source withTail(Source whole, int tail) throws IOException {
        long length = whole.length();
        int kept = (int) Math.min(tail, length);
        byte[] end = new byte[kept];
        whole.read(length - kept, end, 0, kept);
        return new Source() {
            @Override public long length() { return length; }

            @Override public void read(long offset, byte[] into, int at, int count) throws IOException {
                if (offset < 0 || count < 0 || offset > length - count) {
                    throw new EOFException("the file ends at " + length + ", before " + (offset + count));
                }
                if (offset >= length - kept) System.arraycopy(end, (int) (offset - (length - kept)), into, at, count);
                else whole.read(offset, into, at, count);
            }

            @Override public void close() throws IOException {
                whole.close();
            }

            @Override public String toString() { return whole.toString(); }
        };
    }

    /** {@code count} bytes from {@code offset} on. */
    default byte[] bytes(long offset, int count) throws IOException {
        if (offset < 0 || count < 0 || offset > length() - count) {
            throw new EOFException("the file ends at " + length() + ", before " + (offset + count));
        }
        byte[] out = new byte[count];
        read(offset, out, 0, count);
        return out;
    }
}
