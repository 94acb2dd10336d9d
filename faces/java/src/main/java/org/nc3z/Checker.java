package org.nc3z;

import static org.nc3z.Nc3zException.corrupt;
import static org.nc3z.Nc3zException.need;

import java.io.IOException;
import java.io.OutputStream;
import java.util.*;

/** The checker of spec/archive.md, section 9: every byte of an archive is covered by a checksum or a rule. The first fault ends the check. */
public final class Checker {
    private static final int PIECE = 1 << 20;

    private final Archive archive;
    private final List<String> notes = new ArrayList<>();
    /** End and name of what begins at an offset. */
    private final Map<Long, Object[]> parts = new HashMap<>();
    private final Map<Long, Archive.Block> blocks = new HashMap<>();
    private long generations;

    private Checker(Archive archive) { this.archive = archive; }

    /**
     * Checks an archive that was opened without options. A deep check decodes all tiles of all generations that the last one reaches, and compares the
     * digests. Gives what is worth a remark in a sound archive, such as bytes of a commit that did not finish.
     */
    public static List<String> check(Archive archive, boolean deep) throws IOException {
        Checker c = new Checker(archive);
        try {
            c.structure();
            if (deep) c.content();
        } catch (OutOfMemoryError e) {
            throw Memory.full(e);
        }
        return c.notes;
    }

    private void part(long from, long length, String name) throws Nc3zException {
        if (length == 0) return;
        Object[] before = parts.put(from, new Object[] {from + length, name});
        need(before == null || (Long) before[0] == from + length, name + " at " + from + " shares bytes with " + (before == null ? "" : before[1]));
    }

    private void structure() throws IOException {
        need(!archive.damagedSlot, "commit slots: one is damaged");
        part(0, 160, "superblock");
        byte[] copy = archive.headCopy();
        part(160, Bytes.i32(archive.superblock, 32) & 0xFFFFFFFFL, "head copy");
        need(Arrays.equals(copy, archive.head), "head section: other bytes than the head copy");
        List<Archive.Trailer> trailers = new ArrayList<>();
        for (Archive.Trailer t = archive.last; t != null; t = archive.previous(t)) trailers.add(t);
        generations = trailers.size();
        slots(trailers);
        List<long[]> parity = new ArrayList<>();
        for (Archive.Trailer t : trailers) {
            part(t.offset, Archive.TRAILER, "trailer of generation " + t.generation);
            part(t.tableOffset, t.tableLength, "section table of generation " + t.generation);
            for (Archive.Section s : archive.sections(t)) section(t, s, parity);
            walk(t);
        }
        for (long[] p : parity) Parity.check(archive, p[0], p[1], p[2] == archive.last.generation ? notes : null);
        entries();
        zeros();
    }

    private void slots(List<Archive.Trailer> trailers) throws Nc3zException {
        for (long[] slot : archive.slots) {
            boolean found = false;
            for (Archive.Trailer t : trailers) found |= t.generation == slot[0] && t.end() == slot[2] && t.crc == (int) slot[1];
            need(found, "commit slots: generation " + slot[0] + " has no such trailer");
        }
        if (archive.slots.isEmpty() || archive.slots.get(archive.slots.size() - 1)[0] != archive.last.generation) {
            if (generations > 1 || !archive.slots.isEmpty()) notes.add("the newest generation has no commit slot");
        }
    }

    private void section(Archive.Trailer t, Archive.Section s, List<long[]> parity) throws IOException {
        String name = "section of kind " + s.kind + " of generation " + t.generation;
        boolean headCopy = s.kind == 1 && s.offset == 160;
        if (!headCopy) part(s.offset, s.length, "section of kind " + s.kind);
        if (s.encoding != 2) {
            archive.decodeSection(s, true, true);
            if (s.kind == 1 && t == archive.trailer) need(Arrays.equals(archive.decodeSection(s, true, false), archive.head), name + ": other bytes than the head copy");
            if (s.kind == 3) archive.metadata(archive.decodeSection(s, true, false));
        } else if (s.kind == 4) {
            for (long at = s.offset; at < s.offset + s.length; at += Archive.PAGE) {
                byte[] d = archive.aligned(at, Archive.PAGE, "index page at " + at);
                need(Bytes.i32(d, 0) == Bytes.saltedCrc(archive.salt, at, d, 4, Archive.PAGE - 4), "index page at " + at + ": checksum");
            }
        } else if (s.kind == 5) {
            for (long[] p : parity) {
                if (p[0] == s.offset) return;
            }
            parity.add(new long[] {s.offset, s.length, t.generation});
        } else {
            notes.add(name + ", " + s.length + " bytes: not checked");
        }
    }

    /** The blocks of a generation, one after another. */
    private void walk(Archive.Trailer t) throws IOException {
        long at = t.blocksBegin;
        while (at < t.blocksEnd) {
            Archive.Block b = archive.blockAt(at);
            String name = "block at " + at;
            need(b.generation == t.generation, name + ": of generation " + b.generation + ", expected " + t.generation);
            need((b.flags & 1) == (t.required & 1), name + ": its lossy flag is not that of the trailer");
            need(b.end() <= t.blocksEnd, name + ": ends at " + b.end() + ", behind the blocks");
            archive.payload(b);
            part(at, 44 + b.stored, name);
            blocks.put(at, b);
            at = Bytes.roundUp(b.end(), 8);
        }
        need(at == t.blocksEnd, "blocks of generation " + t.generation + " end at " + at + ", expected " + t.blocksEnd);
    }

    /** Each entry of the last generation leads to a block whose header says the same. */
    private void entries() throws IOException {
        for (Map.Entry<Integer, Archive.Row> row : archive.rows.entrySet()) {
            int id = row.getKey();
            for (long tile = 0; tile < row.getValue().count; tile++) {
                String name = "array 0x" + Integer.toHexString(id) + " tile " + tile;
                Archive.Entry e = archive.entry(id, tile);
                need(e.kind != Archive.Entry.ABSENT, name + ": missing");
                need(e.kind != Archive.Entry.LOST || archive.hasLostTiles(), name + ": lost, but the trailer says that nothing is");
                if (e.kind == Archive.Entry.STORED || e.kind == Archive.Entry.PACKED) {
                    Archive.Block b = blocks.get(e.offset);
                    need(b != null, name + ": no block at " + e.offset);
                    boolean packed = e.kind == Archive.Entry.PACKED;
                    int kind = packed ? 1 : id == Archive.HEADS ? 6 : id >>> 30 == 1 ? 2 : 0;
                    need(b.kind == kind && (packed || b.headerCrc == e.check && b.variable == id && b.tile == tile && b.chain == e.chain && b.stored == e.length),
                        name + ": the block at " + e.offset + " is another");
                }
            }
        }
    }

    private void zeros() throws IOException {
        List<Long> sorted = new ArrayList<>(parts.keySet());
        sorted.sort(null);
        long at = 0;
        String before = "";
        byte[] piece = new byte[PIECE];
        for (int i = 0; i <= sorted.size(); i++) {
            long from = i < sorted.size() ? sorted.get(i) : archive.last.end();
            String name = i < sorted.size() ? (String) parts.get(from)[1] : "the end";
            need(from >= at, name + " at " + from + " shares bytes with " + before + ", which ends at " + at);
            for (; at < from; at += Math.min(PIECE, from - at)) {
                int n = (int) Math.min(PIECE, from - at);
                archive.source.read(at, piece, 0, n);
                need(Bytes.zeros(piece, 0, n), "bytes between " + before + " and " + name + ", from " + at + " on, are not zero");
            }
            if (i < sorted.size()) {
                at = (Long) parts.get(from)[0];
                before = name;
            }
        }
        if (archive.size > at) notes.add((archive.size - at) + " bytes behind the last trailer: of a commit that did not finish");
        if (archive.givenLength > archive.shortLength && archive.shortLength > 0) {
            notes.add((archive.givenLength - archive.shortLength) + " bytes behind the end of the short form");
        }
    }

    private void content() throws IOException {
        Set<Integer> unknown = new HashSet<>();
        for (Tiles t : archive.tiles.values()) {
            for (long tile = 0; tile < t.count; tile++) {
                try {
                    if (archive.entry(t.id, tile).kind != Archive.Entry.LOST) archive.tile(t, tile);
                } catch (Nc3zException e) {
                    if (e.kind() != Nc3zException.Kind.UNSUPPORTED) throw e;
                    if (unknown.add(t.id)) notes.add("not decoded: " + e.getMessage());
                }
            }
        }
        if (!unknown.isEmpty() || archive.hasLostTiles()) {
            notes.add("the original was not rebuilt");
            return;
        }
        archive.restore(new OutputStream() {
            @Override public void write(int b) { }

            @Override public void write(byte[] b, int at, int n) { }
        });
        record();
    }

    /** Digests on record (spec/digest.md, section 8). */
    private void record() throws IOException {
        Map<String, Object> record = Json.object(archive.metadata.get("content"));
        byte[] sha = archive.recordedSha256();
        if (record == null || sha == null || !Bytes.hex(sha).substring(0, 16).equals(record.get("of"))) return;
        List<Object> values = Json.list(record.get("values"));
        if (!(record.get("file") instanceof String) && values == null) return;
        Digest digest = Digest.of(archive);
        if (record.get("file") instanceof String && !record.get("file").equals(Bytes.hex(digest.file()))) throw corrupt("the root is not the one on record");
        for (int i = 0; values != null && values.size() == archive.classic.header.variables.size() && i < values.size(); i++) {
            need(!(values.get(i) instanceof String) || values.get(i).equals(Bytes.hex(digest.variable(i))), "the digest of variable " + i + " is not the one on record");
        }
    }
}
