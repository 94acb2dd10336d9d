package org.nc3z;

import static org.nc3z.Nc3zException.*;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.*;

/**
 * An nc3z archive (spec/archive.md), opened for reading. All but the caches is fixed when it is open, so that threads may share it.
 */
public final class Archive extends Dataset {
    static final int HEADS = 0xC0000004;
    static final int CONTAINERS = 0xC0000001;
    private static final byte[] MAGIC = {(byte) 0x89, 'N', 'C', '3', 'Z', '\r', '\n', 0x1a};
    /** The version of the format that is read. */
    static final byte MAJOR = 1, MINOR = 0;
    /** The last commit that reads archives of major version 0. */
    private static final String LAST_OF_VERSION_0 = "6c620646477a";
    private static final int SUPERBLOCK = 160;
    private static final int SLOTS = 112;
    static final int TRAILER = 128;
    private static final int TAIL = 1 << 16;
    static final int PAGE = 4096;
    private static final int LEAF = 169;
    private static final int FAN = 509;
    private static final int INLINE = 32;
    private static final int MAX_DECODED = 1 << 30;
    private static final int MAX_STORED = 1074790400;
    private static final int MAX_CONTAINER = 8388608;
    private static final int WINDOW = 8 << 20;

    /** What to open: the newest version, unless a method says otherwise. */
    public static final class Options {
        private long version, generation;
        private boolean older, fill;

        /** The version of a number, from 1. */
        public Options version(long number) {
            version = number;
            return this;
        }

        /** The generation of a number, from 1. */
        public Options generation(long number) {
            generation = number;
            return this;
        }

        /** The newest version that is whole, where the end of the archive is lost. */
        public Options older() {
            older = true;
            return this;
        }

        /** Fill values in the place of lost tiles. */
        public Options fillLost() {
            fill = true;
            return this;
        }
    }

    /** One version of the archive's file. */
    public static final class Version {
        private final long number, generation;
        private final Map<String, Object> metadata;

        private Version(long number, long generation, Map<String, Object> metadata) {
            this.number = number;
            this.generation = generation;
            this.metadata = metadata;
        }

        /** From 1. */
        public long number() { return number; }

        /** The newest generation that holds it. */
        public long generation() { return generation; }

        /** {@code message}, {@code author} or {@code time}, or null. */
        public String said(String key) {
            Map<String, Object> version = Json.object(metadata.get("version"));
            return version != null && version.get(key) instanceof String ? (String) version.get(key) : null;
        }
    }

    static final class Trailer {
        long offset, generation;
        int required, optional;
        long tableOffset, tableLength;
        int tableCrc;
        long blocksBegin, blocksEnd, previous, originalLength;
        byte[] sha256;
        int digest, crc;

        long end() { return offset + TRAILER; }
    }

    static final class Section {
        final int kind, encoding, crc;
        final long offset, length;

        Section(byte[] d, int at) {
            kind = Bytes.u16(d, at);
            encoding = Bytes.u16(d, at + 2);
            crc = Bytes.i32(d, at + 4);
            offset = Bytes.i64(d, at + 8);
            length = Bytes.i64(d, at + 16);
        }
    }

    static final class Row {
        long count, root;
        int inline;
    }

    /** The name of an older tile, with which a payload begins. */
    static final class Older {
        final Entry entry;
        final int id;
        final long tile, length;

        Older(Bytes in) throws Nc3zException {
            entry = new Entry(in.data, in.skip(24));
            id = (int) in.varint(0xC0000000L);
            tile = in.varint();
            length = in.varint(MAX_DECODED);
            need((entry.kind == Entry.STORED || entry.kind == Entry.PACKED) && id >>> 30 != 1,
                "the older tile is of array 0x" + Integer.toHexString(id) + ", kind " + entry.kind);
        }
    }

    static final class Entry {
        static final int ABSENT = 0;
        static final int STORED = 1;
        static final int CONSTANT = 2;
        static final int PACKED = 3;
        static final int LOST = 4;
        final int kind, chain;
        final long length, offset;
        final int check;
        final long start;

        Entry(byte[] d, int at) throws Nc3zException {
            kind = d[at] & 255;
            chain = Bytes.u16(d, at + 2);
            length = Bytes.i32(d, at + 4) & 0xFFFFFFFFL;
            offset = Bytes.i64(d, at + 8);
            check = Bytes.i32(d, at + 16);
            start = Bytes.i32(d, at + 20) & 0xFFFFFFFFL;
            need(kind <= LOST && d[at + 1] == 0, "index entry: kind " + kind + ", or its reserved byte");
            boolean bare = chain == 0 && length == 0 && check == 0 && start == 0;
            need(kind != ABSENT && kind != LOST || bare && offset == 0, "index entry: an absent or lost tile has other fields");
            need(kind != CONSTANT || bare, "index entry: a constant tile has other fields");
            need(kind != STORED || start == 0, "index entry: a stored tile has a start");
            if (kind == STORED || kind == PACKED) {
                need(offset % 8 == 0 && offset >= SUPERBLOCK && length <= MAX_STORED, "index entry: place or length of the block");
            }
        }
    }

    static final class Block {
        final long offset, generation;
        final int variable, kind, flags, chain;
        final long tile, decoded, stored;
        final int payloadCrc, decodedCrc, headerCrc;
        /** Where it was read with the header: the payload, and the bytes up to the next multiple of 8. */
        byte[] payload;

        Block(long offset, byte[] d) {
            this.offset = offset;
            generation = Bytes.i32(d, 4) & 0xFFFFFFFFL;
            variable = Bytes.i32(d, 8);
            kind = d[12] & 255;
            flags = d[13] & 255;
            chain = Bytes.u16(d, 14);
            tile = Bytes.i64(d, 16);
            decoded = Bytes.i32(d, 24) & 0xFFFFFFFFL;
            stored = Bytes.i32(d, 28) & 0xFFFFFFFFL;
            payloadCrc = Bytes.i32(d, 32);
            decodedCrc = Bytes.i32(d, 36);
            headerCrc = Bytes.i32(d, 40);
        }

        long end() { return offset + 44 + stored; }
    }

    static final class Container {
        byte[] data;
        /** Variable, tile, chain and stored length of the member at a position. */
        final Map<Integer, long[]> members = new HashMap<>();
    }

    /** A tile's bytes, or those of the one element that all are. */
    static final class Tile {
        final byte[] bytes;
        final boolean constant;

        Tile(byte[] bytes, boolean constant) {
            this.bytes = bytes;
            this.constant = constant;
        }
    }

    /** An array and a number: of a tile, or of a definition. */
    private static final class Key {
        final int id;
        final long tile;

        Key(int id, long tile) {
            this.id = id;
            this.tile = tile;
        }

        @Override public boolean equals(Object o) { return o instanceof Key && ((Key) o).id == id && ((Key) o).tile == tile; }

        @Override public int hashCode() { return 31 * id + (int) tile; }
    }

    final Source source;
    final long size, givenLength;
    /** Length of the short form that this archive was made from; 0 for the long form. */
    final long shortLength;
    final byte[] salt = new byte[8];
    final byte[] superblock;
    private final long firstLength;
    /** Generation, trailer CRC, archive length and version of each whole slot, ascending. */
    final List<long[]> slots = new ArrayList<>();
    final boolean damagedSlot;
    final Trailer last, trailer;
    List<Section> sections;
    final Map<Integer, Row> rows = new HashMap<>();
    private byte[] entries;
    final byte[] head;
    private final byte[] headerBytes;
    final Classic classic;
    final List<Chain> chains = new ArrayList<>();
    Map<String, Object> metadata;
    private final long following;
    /** By id in the archive. */
    final Map<Integer, Tiles> tiles = new TreeMap<>(Integer::compareUnsigned);
    /** The number of each variable's array. */
    private final int[] numbers;
    /** The variable of an array's number, for those that have tiles. */
    private final Map<Integer, Header.Variable> variableOf = new HashMap<>();
    private final boolean fill;
    private final Cache<Key, Tile> decoded;
    private final Cache<Long, Container> containers = new Cache<>(Math.min(128L << 20, Runtime.getRuntime().maxMemory() / 8));
    /** Bytes that a restore may still decode (spec/conformance.md, section 2); none where this thread does something else. */
    private final ThreadLocal<long[]> work = new ThreadLocal<>();
    private final Cache<Long, byte[]> pages = new Cache<>(4 << 20);
    private final Cache<Key, Words> definitions = new Cache<>(16 << 20);
    private final List<Place.Slots> fixed = new ArrayList<>();
    private final List<Tiles> recorded = new ArrayList<>();

    // ------------------------------------------------------------ opening

    /** Opens a file. */
    public static Archive open(Path path) throws IOException {
        return open(Source.of(path), new Options());
    }

    /** Opens the newest version. Closing the archive closes the source. */
    public static Archive open(Source source) throws IOException {
        return open(source, new Options());
    }

    /** Opens a version. Closing the archive closes the source. */
    public static Archive open(Source source, Options options) throws IOException {
        try {
            return new Archive(source, options);
        } catch (OutOfMemoryError e) {
            throw Memory.full(e);
        }
    }

    /** True if these are the first bytes of an archive. */
    public static boolean isArchive(byte[] first) { return first.length >= 8 && Arrays.equals(Arrays.copyOf(first, 8), MAGIC); }

    private Archive(Source given, Options options) throws IOException {
        fill = options.fill;
        decoded = new Cache<>(Math.min(256L << 20, Runtime.getRuntime().maxMemory() / 4));
        byte[] start = given.bytes(0, (int) Math.min(12, given.length()));
        if (!isArchive(start)) {
            throw unsupported("not an nc3z archive: its first bytes are " + Bytes.hex(Arrays.copyOf(start, Math.min(8, start.length))));
        }
        need(start.length == 12, "archive: ends after " + start.length + " bytes");
        if (start[8] == 0) throw unsupported("archive of format version 0, of a development build; commit " + LAST_OF_VERSION_0 + " of the source reads it");
        if (start[8] != MAJOR || start[9] < 0 || start[9] > 2) {
            throw unsupported("archive of format version " + (start[8] & 255) + ", form " + (start[9] & 255) + "; this reader knows version " + MAJOR + ", forms 0 to 2");
        }
        givenLength = given.length();
        if (start[9] != 0) {
            ShortForm form = new ShortForm(given);
            source = Source.of(form.expand());
            shortLength = form.length;
        } else {
            shortLength = 0;
            source = Source.withTail(given, TAIL);
        }
        size = source.length();
        need(size >= SUPERBLOCK, "superblock: the archive ends after " + size + " bytes");
        superblock = source.bytes(0, SUPERBLOCK);
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(superblock, 0, 44);
        crc.update(superblock, 48, 64);
        need((int) crc.getValue() == Bytes.i32(superblock, 44), "superblock: checksum");
        need(Bytes.zeros(superblock, 12, 16), "superblock: reserved bytes are not zero");
        System.arraycopy(superblock, 16, salt, 0, 8);
        firstLength = Bytes.i64(superblock, 24);
        need(firstLength >= 0, "superblock: original of " + Long.toUnsignedString(firstLength) + " bytes");
        damagedSlot = readSlots();
        boolean asked = options.version > 0 || options.generation > 0 || options.older;
        last = lastTrailer(asked);
        trailer = options.version > 0 || options.generation > 0 ? find(options) : last;
        sections = sections(trailer);
        readTable();
        head = sectionBytes(1);
        Bytes in = new Bytes(head, "head");
        long mostVariables = 131072 + size / 2;
        byte[] firstHeader = in.take(in.count(headerLimit()));
        Header parsed = header(firstHeader, mostVariables);
        MessageDigest sha = sha256();
        sha.update(sha256().digest(firstHeader));
        sha.update(java.nio.ByteBuffer.allocate(8).order(java.nio.ByteOrder.LITTLE_ENDIAN).putLong(0, firstLength).array());
        byte[] made = sha.digest();
        need(made[0] == salt[0] && made[1] == salt[1] && made[2] == salt[2] && made[3] == salt[3], "superblock: its salt is not that of the header and the length");
        byte[] table = in.take(in.count(16777216));
        chains.addAll(Chain.table(json(table, "chain table"), "chain table", 65536));
        readMetadata();
        long length = firstLength, next = parsed.variables.size();
        int[] order = null;
        if ((trailer.required & 4) != 0) {
            in = laterHead();
            length = in.varint(Long.MAX_VALUE);
            firstHeader = in.take(in.count(headerLimit()));
            parsed = header(firstHeader, mostVariables);
            next = in.varint(1 << 30);
            order = new int[parsed.variables.size()];
            Set<Integer> once = new HashSet<>();
            for (int i = 0; i < order.length; i++) {
                order[i] = in.count(next - 1);
                need(once.add(order[i]), "later head: the array " + order[i] + " twice");
            }
        }
        need(trailer.originalLength == length, "trailer: original of " + trailer.originalLength + " bytes, expected " + length);
        need(firstHeader.length <= length, "head: the header is longer than the file");
        headerBytes = firstHeader;
        following = next;
        classic = new Classic(parsed, length);
        numbers = new int[parsed.variables.size()];
        for (int i = 0; i < numbers.length; i++) numbers[i] = order == null ? i : order[i];
        readLayouts(in);
        checkTable();
        for (Tiles t : tiles.values()) {
            if (t.array instanceof Place.Slots && t.array.present > 0) {
                if (((Place.Slots) t.array).stride == 0) fixed.add((Place.Slots) t.array);
                else recorded.add(t);
            }
        }
        fixed.sort((a, b) -> Long.compare(a.begin, b.begin));
    }

    private int headerLimit() { return (int) Math.min(268435456, Math.min(33554432 + 64 * Math.min(size, 1L << 40), Integer.MAX_VALUE)); }

    private static Header header(byte[] bytes, long most) throws Nc3zException {
        Header out = new Header(bytes, most);
        need(out.length == bytes.length, "head: " + (bytes.length - out.length) + " bytes behind the classic header");
        return out;
    }

    private Object json(byte[] data, String what) throws Nc3zException {
        return Json.parse(data, what, 32, Math.min(4194304, 1048576 + size));
    }

    /** Reads the commit slots; true if one is damaged. */
    private boolean readSlots() throws Nc3zException {
        boolean damaged = false;
        for (int i = 0; i < 2; i++) {
            int at = SLOTS + 24 * i;
            long generation = Bytes.i32(superblock, at) & 0xFFFFFFFFL, length = Bytes.i64(superblock, at + 8);
            int version = Bytes.i32(superblock, at + 16);
            boolean whole = Bytes.i32(superblock, at + 20) == Bytes.saltedCrc(salt, at, superblock, at, 20) && generation > 0 && generation % 2 == i
                && version != 0 && length % 8 == 0 && length >= SUPERBLOCK + TRAILER;
            if (whole) {
                slots.add(new long[] {generation, Bytes.i32(superblock, at + 4), length, version & 0xFFFFFFFFL});
            } else {
                damaged |= !Bytes.zeros(superblock, at, at + 24);
            }
        }
        slots.sort((a, b) -> Long.compare(a[0], b[0]));
        return damaged;
    }

    /** The trailer at an offset; null if there is none whose checksum is right. */
    private Trailer trailerAt(long offset) throws IOException {
        if (offset < SUPERBLOCK || offset % 8 != 0 || offset > size - TRAILER) return null;
        return trailer(source.bytes(offset, TRAILER), 0, offset);
    }

    private Trailer trailer(byte[] d, int at, long offset) throws Nc3zException {
        if (!Bytes.starts(d, at, 0xB1, 'N', 'C', 't') || !Bytes.starts(d, at + 124, 'C', 'Z', '\r', '\n')) return null;
        Trailer t = new Trailer();
        t.offset = offset;
        t.generation = Bytes.i32(d, at + 4) & 0xFFFFFFFFL;
        t.required = Bytes.i32(d, at + 16);
        t.optional = Bytes.i32(d, at + 20);
        t.tableOffset = Bytes.i64(d, at + 24);
        t.tableLength = Bytes.i32(d, at + 32) & 0xFFFFFFFFL;
        t.tableCrc = Bytes.i32(d, at + 36);
        t.blocksBegin = Bytes.i64(d, at + 40);
        t.blocksEnd = Bytes.i64(d, at + 48);
        t.previous = Bytes.i64(d, at + 56);
        t.originalLength = Bytes.i64(d, at + 72);
        t.sha256 = Arrays.copyOfRange(d, at + 80, at + 112);
        t.digest = Bytes.i32(d, at + 112);
        t.crc = Bytes.i32(d, at + 120);
        if (t.crc != Bytes.saltedCrc(salt, offset, d, at, 120) || !Arrays.equals(Arrays.copyOfRange(d, at + 8, at + 16), salt)
                || Bytes.i64(d, at + 64) != offset + TRAILER) {
            return null;
        }
        if ((t.required & ~7) != 0) {
            throw unsupported("trailer at " + offset + ": required features 0x" + Integer.toHexString(t.required) + ", this reader knows 0x7");
        }
        need(Bytes.zeros(d, at + 116, at + 120), "trailer at " + offset + ": reserved bytes are not zero");
        need(t.generation >= 1, "trailer at " + offset + ": generation 0");
        need(t.digest >= 0 && t.digest <= 2 && (t.digest == 1 || Bytes.zeros(t.sha256, 0, 32)), "trailer at " + offset + ": digest state " + t.digest);
        need(t.tableOffset % 8 == 0 && t.tableOffset >= SUPERBLOCK && t.tableLength % 24 == 0 && t.tableOffset <= offset - t.tableLength,
            "trailer at " + offset + ": place of the section table");
        need(t.blocksBegin % 8 == 0 && t.blocksEnd % 8 == 0 && SUPERBLOCK <= t.blocksBegin && t.blocksBegin <= t.blocksEnd && t.blocksEnd <= t.tableOffset,
            "trailer at " + offset + ": place of the blocks");
        need(t.previous == 0 || t.previous % 8 == 0 && t.previous >= SUPERBLOCK && t.previous <= t.blocksBegin - TRAILER, "trailer at " + offset + ": previous trailer");
        need((t.required & 4) != 0 || t.originalLength == firstLength, "trailer at " + offset + ": original of another length than the superblock's");
        return t;
    }

    /** spec/archive.md, section 7. */
    private Trailer lastTrailer(boolean asked) throws IOException {
        Trailer found = trailerAt(size - TRAILER);
        long end = (size - TRAILER) / 8 * 8;
        for (long hi = end + TRAILER; found == null && hi > SUPERBLOCK;) {
            long lo = Math.max(SUPERBLOCK, hi - (1 << 20));
            byte[] d = source.bytes(lo, (int) (Math.min(hi, size) - lo));
            for (int at = (d.length - TRAILER) / 8 * 8; at >= 0 && found == null; at -= 8) found = trailer(d, at, lo + at);
            hi = lo == SUPERBLOCK ? 0 : lo + TRAILER - 8;
        }
        need(found != null, "no valid trailer: the archive is not whole, or its end is lost; expected one within " + size + " bytes");
        if (asked) return found;
        if (!slots.isEmpty()) {
            long[] newest = slots.get(slots.size() - 1);
            if (found.end() < newest[2]) {
                long missing = newest[2] - size;
                throw corrupt("version " + newest[3] + " (generation " + newest[0] + ") is lost: " + (missing > 0 ? "its last " + missing + " bytes are missing" : "its end is damaged")
                    + "; generation " + found.generation + " is whole, read it by its number, or allow older versions");
            }
            need(found.end() > newest[2] && found.generation > newest[0] || found.end() == newest[2] && found.generation == newest[0] && found.crc == (int) newest[1],
                "commit slots: they name another trailer than the last one");
        }
        need(!slots.isEmpty() || !damagedSlot, "commit slots: none is whole, the newest generation is unknown; read a version by its number, or allow older ones");
        if (found.end() < size) {
            boolean parity = parityFollows(found.end());
            // A commit is acknowledged after its slot is on disk: slots that end with this trailer deny a later one.
            boolean denied = !damagedSlot && !slots.isEmpty() && found.end() == slots.get(slots.size() - 1)[2] && (slots.size() == 2 || found.previous == 0);
            need(parity || denied || !committed(), "a later generation may have been committed behind generation " + found.generation + ", and its trailer is damaged; read a version by its number, or allow older ones");
            need(parity || !damagedSlot || slots.isEmpty() || found.end() != slots.get(slots.size() - 1)[2],
                "commit slots: one is damaged, and bytes follow the last trailer: a later generation may be lost; read a version by its number, or allow older ones");
        }
        return found;
    }

    private boolean parityFollows(long end) throws IOException {
        for (long at = Bytes.roundUp(end, 64); at < end + 4096 && at + 64 <= size; at += 64) {
            byte[] d = source.bytes(at, (int) Math.min(16384, size - at));
            int length = 64 * (d[63] & 255);
            if (Bytes.starts(d, 0, 0xB1, 'N', 'C', 'p') && length >= 128 && length <= d.length && Bytes.i64(d, 16) == at
                    && Arrays.equals(Arrays.copyOfRange(d, 8, 16), salt) && Bytes.i32(d, 4) == Bytes.saltedCrc(salt, at, d, 8, length - 8)) {
                return true;
            }
        }
        return false;
    }

    private boolean committed() throws IOException {
        byte[] d = source.bytes(size - TRAILER, TRAILER);
        boolean own = Arrays.equals(Arrays.copyOfRange(d, 8, 16), salt), length = Bytes.i64(d, 64) == size;
        int marks = (own ? 1 : 0) + (length ? 1 : 0) + (Bytes.starts(d, 0, 0xB1, 'N', 'C', 't') ? 1 : 0) + (Bytes.starts(d, 124, 'C', 'Z', '\r', '\n') ? 1 : 0);
        return (own || length) && marks >= 2;
    }

    Trailer previous(Trailer t) throws IOException {
        if (t.previous == 0) return null;
        Trailer p = trailerAt(t.previous);
        need(p != null && p.generation < t.generation, "trailer at " + t.previous + ": damaged, or of another generation than expected");
        return p;
    }

    private Trailer find(Options options) throws IOException {
        Trailer t = last;
        long newest = -1;
        while (t != null) {
            Map<String, Object> meta = options.version > 0 ? metadataOf(t) : null;
            long number = meta == null ? 0 : versionOf(meta);
            newest = newest < 0 ? number : newest;
            if (options.generation > 0 ? t.generation == options.generation : number == options.version) return t;
            if (options.generation > 0 ? t.generation < options.generation : number < options.version) break;
            List<Object> jump = meta == null || Json.object(meta.get("version")) == null ? null : Json.list(Json.object(meta.get("version")).get("jump"));
            if (jump != null && jump.size() == 2 && jump.get(0) instanceof Long && jump.get(1) instanceof Long && (Long) jump.get(0) > options.version
                    && (Long) jump.get(1) < t.offset) {
                Trailer there = trailerAt((Long) jump.get(1));
                need(there != null && there.generation < t.generation, "trailer at " + jump.get(1) + ", where a version's jump leads: damaged");
                t = there;
            } else {
                t = previous(t);
            }
        }
        throw argument(options.version > 0 ? "no version " + options.version + "; the newest is " + newest : "no generation " + options.generation + "; the newest is " + last.generation);
    }

    private static long versionOf(Map<String, Object> metadata) throws Nc3zException {
        if (!metadata.containsKey("version")) return 1;
        Map<String, Object> version = Json.object(metadata.get("version"));
        Long number = version == null ? null : Json.integer(version, "number", 1, 0xFFFFFFFFL);
        need(number != null, "metadata: a version without its number");
        return number;
    }

    private Map<String, Object> metadataOf(Trailer t) throws IOException {
        for (Section s : sections(t)) {
            if (s.kind == 3) return metadata(decodeSection(s, true, false));
        }
        throw corrupt("generation " + t.generation + ": no metadata");
    }

    Map<String, Object> metadata(byte[] data) throws Nc3zException {
        Map<String, Object> out = Json.object(json(data, "metadata"));
        need(out != null, "metadata: not an object");
        return out;
    }

    /** All versions that can be read, the newest first. */
    public List<Version> versions() throws IOException {
        List<Version> out = new ArrayList<>();
        long before = Long.MAX_VALUE;
        for (Trailer t = last; t != null; t = previous(t)) {
            Map<String, Object> meta = metadataOf(t);
            long number = versionOf(meta);
            need(number <= before, "metadata: version " + number + " before version " + before);
            if (number < before) out.add(new Version(number, t.generation, meta));
            before = number;
        }
        return out;
    }

    // ------------------------------------------------------------ sections

    /** Bytes of a part that starts on a multiple of 8; those up to the next multiple are zero. */
    byte[] aligned(long offset, long length, String what) throws IOException {
        need(offset % 8 == 0 && offset >= 0 && length >= 0 && length <= size - offset, what + ": " + length + " bytes at " + offset + " are not in the archive");
        long padded = Math.min(Bytes.roundUp(offset + length, 8), size) - offset;
        Memory.room(padded);
        byte[] out = source.bytes(offset, (int) padded);
        need(Bytes.zeros(out, (int) length, out.length), what + ": bytes up to the next multiple of 8 are not zero");
        return padded == length ? out : Arrays.copyOf(out, (int) length);
    }

    List<Section> sections(Trailer t) throws IOException {
        if (t.tableLength / 24 > 1024) throw limit("section table of generation " + t.generation + ": " + t.tableLength / 24 + " sections");
        byte[] raw = aligned(t.tableOffset, t.tableLength, "section table");
        need(t.tableCrc == Bytes.saltedCrc(salt, t.tableOffset, raw, 0, raw.length), "section table: checksum");
        List<Section> out = new ArrayList<>();
        Set<Integer> once = new HashSet<>();
        for (int at = 0; at < raw.length; at += 24) {
            Section s = new Section(raw, at);
            String what = "section of kind " + s.kind;
            need(s.encoding <= 3 && (s.encoding != 3 || s.kind == 2 || s.kind == 3) && (s.encoding != 2 || s.crc == 0), what + ": encoding " + s.encoding);
            need(s.kind > 4 || (s.kind == 4) == (s.encoding == 2), what + ": encoding " + s.encoding);
            need(s.kind != 4 || s.length % PAGE == 0, what + ": part of an index page");
            need(s.offset >= SUPERBLOCK && s.length >= 0 && s.offset <= t.tableOffset - s.length, what + ": its place");
            if (s.kind < 0x8000) {
                if (s.kind < 1 || s.kind > 5) throw unsupported(what + ": not known to this reader");
                need(s.kind == 4 || once.add(s.kind), what + ": appears twice");
            }
            out.add(s);
        }
        List<Section> sorted = new ArrayList<>(out);
        sorted.sort((a, b) -> a.offset != b.offset ? Long.compare(a.offset, b.offset) : Long.compare(a.length, b.length));
        for (int i = 1; i < sorted.size(); i++) {
            need(sorted.get(i).offset >= sorted.get(i - 1).offset + sorted.get(i - 1).length, "sections overlap at " + sorted.get(i).offset);
        }
        return out;
    }

    Section section(int kind) {
        for (Section s : sections) {
            if (s.kind == kind) return s;
        }
        return null;
    }

    private byte[] sectionBytes(int kind) throws IOException {
        Section s = section(kind);
        need(s != null, "no section of kind " + kind);
        return decodeSection(s, true, false);
    }

    /** Most bytes of a section of a kind, decoded. */
    private int sectionLimit(int kind) {
        long l = Math.min(size, 1L << 40);
        return (int) (kind == 1 ? 2L * headerLimit() : kind == 2 ? Math.min(1L << 30, 16777216 + 256 * l) : Math.min(67108864, 1048576 + 64 * l));
    }

    /** {@code bare}: only the checksum of the stored bytes is compared, and they are given as they are. */
    byte[] decodeSection(Section s, boolean mayContinue, boolean bare) throws IOException {
        String what = "section of kind " + s.kind;
        byte[] raw = aligned(s.offset, s.length, what);
        need(s.encoding != 2 && (mayContinue || s.encoding != 3), what + ": encoding " + s.encoding);
        need(Bytes.crc(raw) == s.crc, what + ": checksum");
        if (s.encoding == 0 || bare) return raw;
        int most = sectionLimit(s.kind);
        if (s.encoding == 3) {
            need(raw.length >= 24, what + ": ends early");
            Section older = new Section(raw, 0);
            need(older.kind == s.kind && older.offset >= SUPERBLOCK && older.length >= 0 && older.offset <= s.offset - older.length, what + ": what it continues");
            byte[] before = decodeSection(older, false, false);
            return Packed.unpack(raw, 24, raw.length, Zstd.Dictionary.raw(before), what, most);
        }
        return Packed.unpack(raw, 0, raw.length, what, most);
    }

    /** The decoded head copy, with all its checks. */
    byte[] headCopy() throws IOException {
        long stored = Bytes.i32(superblock, 32) & 0xFFFFFFFFL, length = Bytes.i32(superblock, 36) & 0xFFFFFFFFL;
        byte[] raw = aligned(SUPERBLOCK, stored, "head copy");
        need(Bytes.crc(raw) == Bytes.i32(superblock, 40), "head copy: checksum");
        byte[] out = stored == length ? raw : Packed.unpack(raw, 0, raw.length, "head copy", sectionLimit(1));
        need(out.length == length, "head copy: " + out.length + " bytes decoded, expected " + length);
        return out;
    }

    private void readTable() throws IOException {
        Bytes in = new Bytes(sectionBytes(2), "variable table");
        long count = in.u32(), all = in.u32();
        need(in.left() == 20 * count + 24 * all, "variable table: " + in.left() + " bytes for " + count + " rows and " + all + " entries");
        int n = (int) count;
        byte[] raw = Bytes.unshuffle(in.data, in.skip(20L * n), 20 * n, 20);
        entries = Bytes.unshuffle(in.data, in.at, in.left(), 24);
        long used = 0, room = trailer.offset;
        for (int i = 0; i < n; i++) {
            int id = Bytes.i32(raw, 20 * i);
            Row row = new Row();
            row.count = Bytes.i64(raw, 20 * i + 4);
            row.root = Bytes.i64(raw, 20 * i + 12);
            String what = "variable table, array 0x" + Integer.toHexString(id);
            need(i == 0 || Integer.compareUnsigned(id, Bytes.i32(raw, 20 * i - 20)) > 0, what + ": ids do not ascend");
            need(row.count > 0 && (row.root == 0) == (row.count <= INLINE), what + ": " + Long.toUnsignedString(row.count) + " tiles, root " + row.root);
            if (row.root == 0) {
                row.inline = (int) used;
                used += row.count;
            } else {
                for (long p = (row.count - 1) / LEAF + 1;; p = (p - 1) / FAN + 1) {
                    need(p <= room / PAGE, what + ": more index pages than the archive has room for");
                    room -= p * PAGE;
                    if (p == 1) break;
                }
            }
            rows.put(id, row);
        }
        need(used == all, "variable table: " + all + " entries, expected " + used);
        for (int at = 0; at < entries.length; at += 24) new Entry(entries, at);
        need(rows.containsKey(HEADS) == ((trailer.required & 4) != 0), "variable table: a later head and the trailer's required features disagree");
    }

    private void readMetadata() throws IOException {
        metadata = metadata(sectionBytes(3));
        Object writer = metadata.get("writer");
        need(!metadata.containsKey("writer") || writer instanceof String, "metadata: `writer` is not a string");
        if (metadata.containsKey("options")) {
            Map<String, Object> options = Json.object(metadata.get("options"));
            need(options != null, "metadata: `options` is not an object");
            for (Object o : options.values()) need(o instanceof String, "metadata: an option that is not a string");
        }
        if (metadata.containsKey("chains")) chains.addAll(Chain.table(metadata.get("chains"), "metadata: chains", 65536 - chains.size()));
        need(!chains.isEmpty() && chains.get(0).isEmpty(), "chain table: chain 0 is not []");
    }

    private Bytes laterHead() throws IOException {
        Row row = rows.get(HEADS);
        need(row.count == 1, "later head: " + row.count + " tiles");
        Entry e = new Entry(entries, 24 * row.inline);
        need(e.kind == Entry.STORED && e.chain == 0, "later head: its entry");
        Block b = block(e, HEADS, 0, 6, "later head");
        byte[] raw = payload(b);
        need(Zstd.contentSize(raw, 0, raw.length) == b.decoded, "later head: a frame of another length");
        if (b.decoded > 2L * headerLimit()) throw limit("later head: " + b.decoded + " bytes");
        need(Zstd.dictionaryId(raw, 0, raw.length) == 0, "later head: a frame with a dictionary");
        byte[] out = Zstd.decode(raw, 0, raw.length, (int) b.decoded, Zstd.Dictionary.raw(head));
        need(Bytes.crc(out) == b.decodedCrc, "later head: checksum");
        return new Bytes(out, "later head");
    }

    private int idOf(int placeId) { return placeId == Classic.GAP ? placeId : placeId & 0xC0000000 | numbers[placeId & 0x3FFFFFFF]; }

    private void readLayouts(Bytes in) throws Nc3zException {
        for (Header.Variable v : classic.header.variables) {
            int kind = in.count(2);
            long[] sizes = new long[kind == 0 ? 1 : v.dims.length];
            for (int k = 0; k < sizes.length; k++) sizes[k] = tileLength(in);
            layout(v.id, kind, sizes);
        }
        for (int id : classic.paddings) {
            layout(id, 0, new long[] {tileLength(in)});
        }
        layout(Classic.GAP, 0, new long[] {tileLength(in)});
        in.finish();
        for (Header.Variable v : classic.header.variables) {
            if (tiles.containsKey(numbers[v.id])) variableOf.put(numbers[v.id], v);
        }
    }

    private static long tileLength(Bytes in) throws Nc3zException {
        long n = in.varint(Long.MAX_VALUE);
        need(n >= 1, "head: a tile length of 0");
        return n;
    }

    private void layout(int id, int kind, long[] sizes) throws Nc3zException {
        Place place = classic.arrays.get(id);
        if (place == null) return;
        Tiles t = new Tiles(place, idOf(id), kind, sizes);
        if (kind == 2 && t.count > 0) {
            long bytes = Bytes.times(t.elements(0), place.element);
            if (bytes > Math.max(67108864, Bytes.times(16, place.bytes()))) throw limit(t.name() + ": a padded chunk of " + bytes + " bytes");
        }
        tiles.put(t.id, t);
    }

    private void checkTable() throws Nc3zException {
        for (Tiles t : tiles.values()) {
            Row row = rows.get(t.id);
            long have = row == null ? 0 : row.count;
            need(have == t.count, t.name() + ": " + have + " tiles in the index, " + t.count + " by its layout");
        }
        for (int id : rows.keySet()) {
            boolean definition = id >>> 30 == 1 && (id & 0x3FFFFFFF) < following;
            need(tiles.containsKey(id) || id == HEADS || definition, "variable table: unknown array 0x" + Integer.toHexString(id));
        }
    }

    // ------------------------------------------------------------ index and blocks

    Entry entry(int id, long tile) throws IOException {
        Row row = rows.get(id);
        need(row != null && tile >= 0 && tile < row.count, "array 0x" + Integer.toHexString(id) + ": no tile " + tile);
        if (row.root == 0) return new Entry(entries, 24 * (row.inline + (int) tile));
        int height = 0;
        for (long p = (row.count - 1) / LEAF + 1; p > 1; p = (p - 1) / FAN + 1) height++;
        long at = row.root, first = 0;
        for (int level = height;; level--) {
            byte[] page = page(at, id, level, first, row.count);
            if (level == 0) return new Entry(page, 24 + 24 * (int) (tile - first));
            long span = LEAF;
            for (int k = 1; k < level; k++) span *= FAN;
            long i = (tile - first) / span, below = Bytes.i64(page, 24 + 8 * (int) i);
            need(below >= SUPERBLOCK && below < at, "index page at " + at + ": the page below it is not before it");
            at = below;
            first += i * span;
        }
    }

    byte[] page(long offset, int id, int level, long first, long count) throws IOException {
        byte[] d = pages.get(offset);
        String what = "index page at " + offset;
        if (d == null) {
            d = aligned(offset, PAGE, what);
            need(Bytes.i32(d, 0) == Bytes.saltedCrc(salt, offset, d, 4, PAGE - 4), what + ": checksum");
            pages.put(offset, d, PAGE);
        }
        long span = LEAF;
        for (int k = 1; k < level; k++) span *= FAN;
        long want = level == 0 ? Math.min(LEAF, count - first) : Math.min(FAN, (count - first - 1) / span + 1);
        int have = Bytes.u16(d, 10);
        need(Bytes.i32(d, 4) == id && Bytes.u16(d, 8) == level && Bytes.i64(d, 16) == first && have == want && Bytes.zeros(d, 12, 16)
            && Bytes.zeros(d, 24 + have * (level == 0 ? 24 : 8), PAGE), what + ": not the page that is expected there");
        return d;
    }

    /** The block header at an offset. */
    Block blockAt(long offset) throws IOException {
        need(offset >= SUPERBLOCK && offset % 8 == 0 && offset <= size - 44, "no block at " + offset + ": the archive has " + size + " bytes");
        return block(offset, source.bytes(offset, 44));
    }

    private Block block(long offset, byte[] d) throws Nc3zException {
        String what = "block at " + offset;
        need(Bytes.starts(d, 0, 0xB1, 'N', 'C', 'b'), what + ": no marker");
        Block b = new Block(offset, d);
        need(b.headerCrc == Bytes.saltedCrc(salt, offset, d, 0, 40), what + ": checksum of its header");
        need((b.flags & ~1) == 0 && b.kind <= 7 && b.generation >= 1, what + ": kind " + b.kind + ", flags " + b.flags + ", generation " + b.generation);
        need(b.decoded <= MAX_DECODED && b.stored <= MAX_STORED && b.stored <= size - offset - 44, what + ": " + b.stored + " bytes stored, " + b.decoded + " decoded");
        return b;
    }

    /** The block that an index entry of kind 1 leads to, with its payload: one read. */
    private Block block(Entry e, int id, long tile, int kind, String what) throws IOException {
        need(e.offset <= size - 44 - e.length, what + ": no block of " + e.length + " bytes at " + e.offset + ", the archive has " + size);
        long end = Math.min(Bytes.roundUp(e.offset + 44 + e.length, 8), size);
        Memory.room(end - e.offset);
        byte[] d = source.bytes(e.offset, (int) (end - e.offset));
        Block b = block(e.offset, d);
        need(b.headerCrc == e.check && b.kind == kind && b.variable == id && b.tile == tile && b.chain == e.chain && b.stored == e.length,
            what + ": the block at " + e.offset + " is not the one that the index names");
        b.payload = Arrays.copyOfRange(d, 44, d.length);
        return b;
    }

    /** A block's payload, with the zeros behind it checked. */
    byte[] payload(Block b) throws IOException {
        String what = "block at " + b.offset;
        long[] left = work.get();
        if (left != null && (left[0] -= b.decoded) < 0) throw limit("the archive decodes far more bytes than its original has: no more is decoded");
        byte[] raw = b.payload;
        if (raw == null) {
            Memory.room(b.stored + 8);
            raw = source.bytes(b.offset + 44, (int) (Math.min(Bytes.roundUp(b.end(), 8), size) - b.offset - 44));
        }
        need(Bytes.zeros(raw, (int) b.stored, raw.length), what + ": bytes behind it are not zero");
        byte[] out = raw.length == b.stored ? raw : Arrays.copyOf(raw, (int) b.stored);
        need(ShortForm.payloadCrc(b.variable, b.tile, out) == b.payloadCrc, what + ": checksum of its payload");
        return out;
    }

    private static byte[] checked(byte[] out, int crc, String what) throws Nc3zException {
        need(Bytes.crc(out) == crc, what + ": checksum of the decoded bytes");
        return out;
    }

    // ------------------------------------------------------------ tiles

    /** What a tile is decoded as: the type, and the shape that the strides are of. */
    private static final class Form {
        final DataType type;
        final long[] shape;

        Form(DataType type, long[] shape) {
            this.type = type;
            this.shape = shape;
        }
    }

    private Form form(Tiles t, long tile) {
        Header.Variable v = variableOf.get(t.id);
        boolean values = v != null && t.array.element == v.type.size() && t.id >= 0;
        return new Form(values ? v.type : DataType.BYTE, values ? t.strideShape(tile) : new long[0]);
    }

    Chain chain(int number, String what) throws Nc3zException {
        need(number < chains.size(), what + ": chain " + number + " of " + chains.size());
        Chain chain = chains.get(number);
        chain.needKnown(what);
        return chain;
    }

    /** A tile, from the cache or decoded. */
    Tile tile(Tiles t, long tile) throws IOException {
        Key key = new Key(t.id, tile);
        Tile out = decoded.get(key);
        if (out == null) {
            out = decode(t, tile);
            decoded.put(key, out, out.bytes.length + 100L);
        }
        return out;
    }

    private Tile decode(Tiles t, long tile) throws IOException {
        String what = t.name() + " tile " + tile;
        long length = Bytes.times(t.elements(tile), t.array.element);
        Entry e = entry(t.id, tile);
        if (e.kind == Entry.LOST && fill) return new Tile(fillValue(t), true);
        need(e.kind != Entry.ABSENT, what + ": missing");
        need(e.kind != Entry.LOST, what + ": known to be lost; fill values take its place if they are asked for");
        if (e.kind == Entry.CONSTANT) {
            byte[] value = new byte[8];
            for (int i = 0; i < 8; i++) value[i] = (byte) (e.offset >>> 8 * i);
            need(Bytes.zeros(value, t.array.element, 8), what + ": bytes behind the constant value");
            return new Tile(Arrays.copyOf(value, t.array.element), true);
        }
        need(length <= MAX_DECODED, what + ": " + length + " bytes");
        if (e.kind == Entry.PACKED) return new Tile(member(e, t, tile, t.id, tile, length), false);
        Block b = block(e, t.id, tile, 0, what);
        need(b.decoded == length, what + ": " + b.decoded + " bytes, expected " + length);
        return new Tile(checked(decode(payload(b), e.chain, t, tile, t.id, tile, (int) length, b.offset), b.decodedCrc, what), false);
    }

    private byte[] fillValue(Tiles t) {
        Header.Variable v = t.id >= 0 ? variableOf.get(t.id) : null;
        if (v == null) return new byte[1];
        Header.Attribute a = v.attribute("_FillValue");
        return a != null && a.type == v.type && a.count() > 0 ? Arrays.copyOf(a.values, v.type.size()) : FillValues.of(v.type);
    }

    /**
     * Undoes a chain. {@code t} and {@code tile} are what is being read, {@code id} and {@code number} what the payload is of: an older tile in
     * the second step of nc3z.base.
     */
    private byte[] decode(byte[] data, int number, Tiles t, long tile, int id, long of, int length, long own) throws IOException {
        String what = "array 0x" + Integer.toHexString(id) + " tile " + of;
        Chain chain = chain(number, what);
        byte[] before = null;
        int from = 0;
        if (chain.base) {
            Bytes in = new Bytes(data, what + ", the older one");
            before = base(in, t, tile, own);
            from = in.at;
        }
        byte[] out;
        if (chain.num) out = numbers(chain, data, from, data.length, t, tile, id, of, length, what);
        else out = chain.decode(data, from, data.length - from, length, what);
        if (before != null) {
            out = out == data ? out.clone() : out;
            for (int i = Math.min(out.length, before.length) - 1; i >= 0; i--) out[i] ^= before[i];
        }
        return out;
    }

    private byte[] numbers(Chain chain, byte[] data, int from, int to, Tiles t, long tile, int id, long of, int length, String what) throws IOException {
        Form form = form(t, tile);
        need(length % form.type.size() == 0, what + ": part of an element");
        int n = length / form.type.size();
        try {
            Words dictionary = null;
            if (chain.dictionary >= 0) {
                need(id >= 0 && id >>> 30 == 0, what + ": a dictionary of what is not a variable");
                dictionary = definition(id, chain.dictionary, form.type);
            }
            Words reference = null;
            if (chain.refers) {
                long other = id - chain.reference;
                Tiles at = other < 0 ? null : tiles.get((int) other);
                need(id >= 0 && id >>> 30 == 0 && at != null && of < at.count && at.elements(of) == n, what + ": its reference is no such tile");
                Entry e = entry(at.id, of);
                need(e.kind != Entry.STORED && e.kind != Entry.PACKED || !chain(e.chain, what).refers, what + ": its reference has one itself");
                Header.Variable v = variableOf.get(at.id);
                Tile read = tile(at, of);
                Words patterns = Words.fromBigEndian(v.type, read.constant ? repeated(read.bytes, n) : read.bytes);
                reference = Num.convert(patterns, form.type);
            }
            return Num.decode(data, from, to, form.type, n, Num.geometry(form.shape), dictionary, reference).bigEndian();
        } catch (Nc3zException e) {
            throw new Nc3zException(e.kind(), what + ": " + e.getMessage());
        }
    }

    private static byte[] repeated(byte[] value, int count) throws Nc3zException {
        byte[] out = Memory.bytes((long) count * value.length);
        fill(out, 0, out.length, value, 0);
        return out;
    }

    private static void fill(byte[] out, int at, int count, byte[] value, int phase) {
        for (int i = 0, k = phase; i < count; i++) {
            out[at + i] = value[k];
            k = k + 1 == value.length ? 0 : k + 1;
        }
    }

    private Words definition(int variable, long number, DataType type) throws IOException {
        int id = Classic.DEFINITIONS | variable;
        Key key = new Key(id, number);
        Words out = definitions.get(key);
        if (out == null || out.type != type) {
            String what = "definition " + number + " of array " + variable;
            Entry e = entry(id, number);
            need(e.kind == Entry.STORED && e.chain == 0, what + ": its entry");
            Block b = block(e, id, number, 2, what);
            byte[] data = payload(b);
            need(data.length == b.decoded, what + ": " + data.length + " bytes, expected " + b.decoded);
            out = Num.dictionary(checked(data, b.decodedCrc, what), type);
            definitions.put(key, out, (long) out.n * type.size());
        }
        return out;
    }

    Container container(long offset) throws IOException {
        Container out = containers.get(offset);
        if (out != null) return out;
        Block b = blockAt(offset);
        String what = "packed container at " + offset;
        need(b.kind == 1 && b.variable == CONTAINERS, what + ": no container");
        out = container(b, what);
        containers.put(offset, out, out.data.length + 100L * out.members.size());
        return out;
    }

    Container container(Block b, String what) throws IOException {
        need(b.decoded <= MAX_CONTAINER, what + ": " + b.decoded + " bytes");
        Chain chain = chain(b.chain, what);
        if (chain.num || chain.base) throw chain.unsupported(what, "a chain that codes tiles, not bytes");
        byte[] raw = payload(b);
        Container out = new Container();
        out.data = checked(chain.decode(raw, 0, raw.length, (int) b.decoded, what), b.decodedCrc, what);
        Bytes in = new Bytes(out.data, what);
        long length = in.u32();
        need(length <= in.left(), what + ": ends early");
        long at = 4 + length;
        in = new Bytes(out.data, 4, (int) at, what);
        int count = in.count(in.left() / 4);
        for (int i = 0; i < count; i++) {
            long[] member = {in.varint(0xFFFFFFFFL), in.varint(), in.varint(65535), in.varint(0xFFFFFFFFL)};
            need(at <= Integer.MAX_VALUE, what + ": its members are longer than it");
            out.members.putIfAbsent((int) at, member);
            at += member[3];
        }
        in.finish();
        need(at == out.data.length, what + ": its members do not fill it");
        return out;
    }

    private byte[] member(Entry e, Tiles t, long tile, int id, long of, long length) throws IOException {
        String what = "array 0x" + Integer.toHexString(id) + " tile " + of;
        Container c = container(e.offset);
        long[] m = e.start > Integer.MAX_VALUE ? null : c.members.get((int) e.start);
        need(m != null && (int) m[0] == id && m[1] == of && m[2] == e.chain && m[3] == e.length, what + ": not where the index says in the container at " + e.offset);
        byte[] data = Arrays.copyOfRange(c.data, (int) e.start, (int) (e.start + e.length));
        return checked(decode(data, e.chain, t, tile, id, of, (int) length, e.offset), e.check, what);
    }

    /** The older tile that a payload names first (spec/chains.md, section 3). */
    private byte[] base(Bytes in, Tiles t, long tile, long own) throws IOException {
        Older named = new Older(in);
        Entry e = named.entry;
        int id = named.id;
        long of = named.tile, length = named.length;
        need(e.offset < own, "the older tile at " + e.offset + " is not before " + own);
        String what = "array 0x" + Integer.toHexString(id) + " tile " + of + ", an older one";
        Chain chain = chain(e.chain, what);
        need(!chain.base && !chain.refers, what + ": coded against another itself");
        need(length % t.array.element == 0, what + ": part of an element");
        if (e.kind == Entry.PACKED) return member(e, t, tile, id, of, length);
        Block b = block(e, id, of, 0, what);
        need(b.decoded == length, what + ": " + b.decoded + " bytes, expected " + length);
        return checked(decode(payload(b), e.chain, t, tile, id, of, (int) length, b.offset), b.decodedCrc, what);
    }

    // ------------------------------------------------------------ arrays

    /** Bytes {@code first} to {@code first + count} of an array. */
    void array(Tiles t, long first, byte[] into, int at, int count) throws IOException {
        int size = t.array.element;
        if (t.kind == 0) {
            long tileBytes = Bytes.times(t.sizes[0], size);
            while (count > 0) {
                long tile = first / tileBytes, inside = first - tile * tileBytes;
                int n = (int) Math.min(count, Math.min(tileBytes, t.array.bytes() - tile * tileBytes) - inside);
                copy(tile(t, tile), inside, into, at, n);
                first += n;
                at += n;
                count -= n;
            }
            return;
        }
        long[] shape = t.mergedShape;
        long[] chunk = t.mergedChunk;
        int rank = shape.length;
        long lastTile = -1;
        Tile tile = null;
        while (count > 0) {
            // where the element is, tile by tile and inside it
            long element = first / size, number = 0, inside = 0, factor = 1, weight = 1, run = 0;
            for (int k = rank - 1; k >= 0; k--) {
                long index = k == 0 ? element : element % shape[k];
                element /= shape[k];
                long c = index / chunk[k], begin = c * chunk[k];
                long stored = t.kind == 2 ? chunk[k] : Math.min(chunk[k], shape[k] - begin);
                if (k == rank - 1) run = Math.min(chunk[k], shape[k] - begin) - (index - begin);
                inside += (index - begin) * weight;
                weight *= stored;
                number += c * factor;
                factor *= (shape[k] - 1) / chunk[k] + 1;
            }
            long rest = first % size;
            int n = (int) Math.min(count, run * size - rest);
            if (number != lastTile) {
                tile = tile(t, number);
                lastTile = number;
            }
            copy(tile, inside * size + rest, into, at, n);
            first += n;
            at += n;
            count -= n;
        }
    }

    private static void copy(Tile tile, long inside, byte[] into, int at, int n) {
        if (tile.constant) fill(into, at, n, tile.bytes, (int) (inside % tile.bytes.length));
        else System.arraycopy(tile.bytes, (int) inside, into, at, n);
    }

    @Override Classic classic() { return classic; }

    @Override void values(int variable, long first, byte[] into, int at, int count) throws IOException {
        try {
            Place place = classic.places[variable];
            Tiles t = classic.arrays.containsKey(variable) ? tiles.get(numbers[variable]) : null;
            if (t != null) array(t, first, into, at, count);
            else place.runs(first, first + count, (file, array, n) -> original(file, into, at + (int) (array - first), (int) n));
        } catch (OutOfMemoryError e) {
            decoded.clear();
            throw Memory.full(e);
        }
    }

    /** Bytes of the original file. */
    void original(long offset, byte[] into, int at, int count) throws IOException {
        long end = offset + count;
        if (offset < headerBytes.length) System.arraycopy(headerBytes, (int) offset, into, at, (int) Math.min(count, headerBytes.length - offset));
        int low = 0, high = fixed.size();
        while (low < high) {
            int middle = low + high >>> 1;
            Place.Slots p = fixed.get(middle);
            if (p.begin + p.bytes() <= offset) low = middle + 1;
            else high = middle;
        }
        for (; low < fixed.size() && fixed.get(low).begin < end; low++) {
            Tiles t = tiles.get(idOf(fixed.get(low).id));
            fixed.get(low).within(offset, end, (file, array, n) -> array(t, array, into, at + (int) (file - offset), (int) n));
        }
        for (Tiles t : recorded) {
            Place.Slots p = (Place.Slots) t.array;
            long total = p.bytes();
            // the first and the last byte of the array inside the window
            long a = position(p, Math.max(offset, p.begin), total), b = end <= p.begin ? 0 : position(p, end, total);
            if (a >= b) continue;
            byte[] part = Memory.bytes(b - a);
            array(t, a, part, 0, part.length);
            p.within(offset, end, (file, array, n) -> System.arraycopy(part, (int) (array - a), into, at + (int) (file - offset), (int) n));
        }
        Tiles gap = tiles.get(Classic.GAP);
        gap.array.within(offset, end, (file, array, n) -> array(gap, array, into, at + (int) (file - offset), (int) n));
    }

    /** How many of the array's bytes are before a position in the file that is not before its beginning. */
    private static long position(Place.Slots p, long file, long total) {
        long record = (file - p.begin) / p.stride, inside = Math.min(file - p.begin - record * p.stride, p.slot);
        return Math.min(Bytes.plus(Bytes.times(record, p.slot), inside), total);
    }

    /** Writes the original file, and compares its SHA-256 where the archive has one. */
    public void restore(OutputStream out) throws IOException {
        need((trailer.required & 2) == 0 || fill, "tiles are lost: the original cannot be restored; fill values take their place if they are asked for");
        MessageDigest sha = sha256();
        byte[] window = new byte[(int) Math.min(WINDOW, classic.length)];
        long most = Bytes.plus(1L << 33, Bytes.plus(Bytes.times(1024, size), Bytes.times(256, classic.length)));
        work.set(new long[] {most});
        try {
            for (long at = 0; at < classic.length; at += window.length) {
                int n = (int) Math.min(window.length, classic.length - at);
                original(at, window, 0, n);
                sha.update(window, 0, n);
                out.write(window, 0, n);
            }
        } catch (OutOfMemoryError e) {
            decoded.clear();
            throw Memory.full(e);
        } finally {
            work.remove();
        }
        byte[] digest = sha.digest();
        need(trailer.digest != 1 || Arrays.equals(digest, trailer.sha256), "the restored file has the SHA-256 " + Bytes.hex(digest) + ", recorded is " + Bytes.hex(trailer.sha256));
    }

    /** The recorded SHA-256 of the original, or null. */
    public byte[] recordedSha256() { return trailer.digest == 1 ? trailer.sha256.clone() : null; }

    /** True if values were rounded before they were archived. */
    public boolean isLossy() { return (trailer.required & 1) != 0; }

    /** True if tiles are known to be lost. */
    public boolean hasLostTiles() { return (trailer.required & 2) != 0; }

    /** The number of the version that is open. */
    public long version() throws IOException {
        return versionOf(metadata);
    }

    /** The tags, by name: numbers of versions. */
    public Map<String, Long> tags() throws IOException {
        Map<String, Object> tags = Json.object(metadataOf(last).get("tags"));
        Map<String, Long> out = new TreeMap<>();
        if (tags != null) {
            tags.forEach((name, number) -> {
                if (number instanceof Long) out.put(name, (Long) number);
            });
        }
        return Collections.unmodifiableMap(out);
    }

    @Override public void close() throws IOException {
        source.close();
    }
}
