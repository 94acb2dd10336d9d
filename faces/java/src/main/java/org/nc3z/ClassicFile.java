package org.nc3z;

import java.io.IOException;

/** A classic file, read where it is: CDF-1, CDF-2 or CDF-5. */
public final class ClassicFile extends Dataset {
    private static final int MAX_HEADER = 1 << 28;
    private final Source source;
    private final Classic classic;

    private ClassicFile(Source source, Classic classic) {
        this.source = source;
        this.classic = classic;
    }

    /** Opens a file. */
    public static ClassicFile open(Source source) throws IOException {
        long length = source.length();
        // The header's length is not written anywhere: read more until it parses.
        for (int n = 1 << 16;; n = (int) Math.min(16L * n, MAX_HEADER)) {
            byte[] head = source.bytes(0, (int) Math.min(n, length));
            try {
                return new ClassicFile(source, new Classic(new Header(head, length), length));
            } catch (Nc3zException e) {
                if (head.length == length || n == MAX_HEADER || head.length < 4 || head[0] != 'C') throw e;
            }
        }
    }

    @Override Classic classic() { return classic; }

    @Override void values(int variable, long first, byte[] into, int at, int count) throws IOException {
        classic.places[variable].runs(first, first + count, (file, array, n) -> source.read(file, into, at + (int) (array - first), (int) n));
    }

    @Override public void close() throws IOException {
        source.close();
    }
}
