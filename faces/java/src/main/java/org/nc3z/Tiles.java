package org.nc3z;

import static org.nc3z.Nc3zException.need;

/** The tiles of one array: how many there are, their lengths and shapes (spec/archive.md, sections 1 and 2). */
final class Tiles {
    final Place array;
    /** The id in the archive, which a later head may make another than the place's. */
    final int id;
    /** 0 linear, 1 chunks with clipped edges, 2 with padded edges. */
    final int kind;
    /** The tile's length, or the chunk's shape. */
    final long[] sizes;
    final long count;
    private final long[] grid;
    /** Shape and chunk with trailing dimensions merged that a chunk has whole. */
    final long[] mergedShape, mergedChunk;

    Tiles(Place array, int id, int kind, long[] sizes) throws Nc3zException {
        this.array = array;
        this.id = id;
        this.kind = kind;
        this.sizes = sizes;
        if (kind == 0) {
            grid = mergedShape = mergedChunk = null;
            count = array.present == 0 ? 0 : (array.present - 1) / sizes[0] + 1;
            return;
        }
        int rank = array.shape.length;
        long elements = 1;
        for (long n : array.shape) elements = Bytes.times(elements, n);
        need(array.present == elements, name() + ": chunked, but not all of its elements are present");
        grid = new long[rank];
        long tiles = 1;
        for (int k = 0; k < rank; k++) {
            grid[k] = array.shape[k] == 0 ? 0 : (array.shape[k] - 1) / sizes[k] + 1;
            tiles = Bytes.times(tiles, grid[k]);
        }
        count = tiles;
        int kept = rank;
        long shape = 1, chunk = 1;
        while (kept > 1 && (sizes[kept - 1] == array.shape[kept - 1] || kind == 1 && sizes[kept - 1] > array.shape[kept - 1])) {
            kept--;
            shape = Bytes.times(shape, array.shape[kept]);
            chunk = shape;
        }
        kept = Math.max(kept, 1);
        mergedShape = new long[kept];
        mergedChunk = new long[kept];
        for (int k = 0; k < kept && rank > 0; k++) {
            mergedShape[k] = Bytes.times(array.shape[k], k == kept - 1 ? shape : 1);
            mergedChunk[k] = Bytes.times(sizes[k], k == kept - 1 ? chunk : 1);
        }
        if (rank == 0) {
            mergedShape[0] = 1;
            mergedChunk[0] = 1;
        }
    }

    String name() { return "array 0x" + Integer.toHexString(id); }

    /** The shape of a tile as it is stored. */
    long[] shape(long tile) {
        if (kind == 0) {
            return new long[] {elements(tile)};
        }
        long[] out = new long[sizes.length];
        for (int k = sizes.length - 1; k >= 0; k--) {
            long index = tile % grid[k];
            tile /= grid[k];
            out[k] = kind == 2 ? sizes[k] : Math.min(sizes[k], array.shape[k] - index * sizes[k]);
        }
        return out;
    }

    /** The number of elements of a tile, at most Long.MAX_VALUE. */
    long elements(long tile) {
        if (kind == 0) return Math.min(sizes[0], array.present - tile * sizes[0]);
        long out = 1;
        for (long n : shape(tile)) out = Bytes.times(out, n);
        return out;
    }

    /** What the strides of nc3z.num are of. */
    long[] strideShape(long tile) {
        return kind == 0 ? array.shape : shape(tile);
    }
}
