package org.nc3z;

import static org.nc3z.Nc3zException.limit;

/** Allocates what the format allows and this Java machine has: everything else is an error, not the end of the machine. */
final class Memory {
    private Memory() {}

    static void room(long bytes) throws Nc3zException {
        long most = Runtime.getRuntime().maxMemory();
        if (bytes > Integer.MAX_VALUE - 64L || bytes > 1 << 20 && bytes > most / 2) {
            throw limit(bytes + " bytes are needed at once, the Java machine has " + most + "; start it with a larger -Xmx");
        }
    }

    static byte[] bytes(long count) throws Nc3zException {
        room(count);
        return new byte[(int) count];
    }

    static int[] ints(long count) throws Nc3zException {
        room(4 * count);
        return new int[(int) count];
    }

    static long[] longs(long count) throws Nc3zException {
        room(8 * count);
        return new long[(int) count];
    }

    /** What a caller is told where the heap was full after all. */
    static Nc3zException full(OutOfMemoryError e) {
        return limit("the Java machine has no room: " + e.getMessage() + "; start it with a larger -Xmx");
    }
}
