package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** A bundle (spec/catalogue.md, sections 5 to 7): an archive with a table of files, their bytes, and packed members in groups. */
public final class Bundle implements Closeable {
    private static final int PACKED = 3, KINDS = 6;
    private static final int NAME = 16384;
    private static final int LIST = 64 << 20;
    private static final int FRAME = 4 << 20;

    /** What the table says of a member. */
    private static final class Row {
        int kind, crc;
        long offset, length;
        boolean twice;
    }

    private final Archive archive;
    private final Header.Variable content;
    private final Map<String, Row> rows = new LinkedHashMap<>();
    /** By offset in the content. */
    private final Map<Long, Group> groups = new HashMap<>();

    private Bundle(Archive archive) throws IOException {
        this.archive = archive;
        for (String mark : new String[] {"nc3z_catalog", "nc3z_bundle"}) {
            Header.Attribute a = Header.find(archive.header().attributes, mark);
            if (a == null || !a.text().equals("1")) throw Nc3zException.unsupported("not a bundle, or one of a later kind: the attribute " + mark);
        }
        content = find("content", DataType.BYTE);
        ByteBuffer lengths = column("file_name_length", DataType.INT), kinds = column("file_kind", DataType.BYTE), offsets = column("file_offset", DataType.INT64),
            sizes = column("file_stored_size", DataType.INT64), crcs = column("file_crc32", DataType.UINT), names = column("file_name", DataType.CHAR);
        int files = lengths.remaining() / 4;
        need(files <= 65536 + 16 * archive.size, "bundle: " + files + " files in " + archive.size + " bytes");
        need(kinds.remaining() == files && offsets.remaining() / 8 == files && sizes.remaining() / 8 == files && crcs.remaining() / 4 == files, "bundle: columns of different lengths");
        for (int i = 0; i < files; i++) {
            int length = lengths.getInt();
            need(length >= 0 && length <= NAME && length <= names.remaining(), "bundle: length of name " + i);
            byte[] raw = new byte[length];
            names.get(raw);
            String name = new String(raw, StandardCharsets.UTF_8);
            Row row = new Row();
            row.kind = kinds.get();
            row.offset = offsets.getLong();
            row.length = sizes.getLong();
            row.crc = crcs.getInt();
            Row other = rows.put(name, row);
            row.twice = other != null;
        }
        need(!names.hasRemaining(), "bundle: bytes behind the last name");
    }

    /** Opens a bundle. Closing it closes the source. */
    public static Bundle open(Source source) throws IOException { return new Bundle(Archive.open(source)); }

    /** A variable of one dimension, or null if it is left out: its dimension has no elements. */
    private Header.Variable find(String name, DataType type) throws IOException {
        for (Header.Variable v : archive.header().variables) {
            if (!v.name().equals(name)) continue;
            need(v.type == type && v.shape.length == 1, "bundle: type and dimensions of " + name);
            return v;
        }
        return null;
    }

    private ByteBuffer column(String name, DataType type) throws IOException {
        Header.Variable v = find(name, type);
        return ByteBuffer.wrap(v == null ? new byte[0] : archive.read(v));
    }

    /** The names of the members. */
    public List<String> names() { return new ArrayList<>(rows.keySet()); }

    /** True if a member is packed in a group. */
    public boolean isPacked(String name) { return rows.containsKey(name) && rows.get(name).kind == PACKED; }

    private Row row(String asked) throws Nc3zException {
        String name = rows.containsKey(asked) ? asked : asked + ".nc3z";
        Row row = rows.get(name);
        if (row == null) throw Nc3zException.argument("the bundle has no member " + asked);
        need(!row.twice, "bundle: two members have the name " + name);
        for (String part : name.split("/", -1)) {
            need(!part.isEmpty() && !part.equals(".") && !part.equals("..") && part.indexOf('\0') < 0, "bundle: a name that no file has: " + Cdl.quoted(name));
        }
        long bytes = content == null ? 0 : archive.present(content);
        need(row.kind >= 0 && row.kind < KINDS, "bundle: kind " + row.kind + " of " + name);
        need(row.offset >= 0 && row.length >= 0 && row.offset <= bytes - row.length, "bundle: place of " + name);
        return row;
    }

    /** A member as it is stored: an archive, or any file. A packed member is given whole, as the classic file that it is. */
    public Source member(String name) throws IOException {
        Row row = row(name);
        return row.kind == PACKED ? Source.of(group(row).member(name)) : stored(row);
    }

    /** Bytes of the content. Closing them leaves the bundle open. */
    private Source stored(Row row) {
        return Source.part(new Source() {
            @Override public long length() { return archive.present(content); }

            @Override public void read(long offset, byte[] into, int at, int count) throws IOException {
                if (count > 0) archive.values(content.id, offset, into, at, count);
            }
        }, row.offset, row.length);
    }

    /** Writes a member as {@link #member} gives it, and compares it with its checksum. */
    public void copy(String name, OutputStream to) throws IOException {
        Row row = row(name);
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        try (Source from = member(name)) {
            byte[] piece = new byte[(int) Math.min(1 << 20, from.length())];
            for (long at = 0; at < from.length(); at += piece.length) {
                int n = (int) Math.min(piece.length, from.length() - at);
                from.read(at, piece, 0, n);
                crc.update(piece, 0, n);
                to.write(piece, 0, n);
            }
        }
        need(row.kind == PACKED || (int) crc.getValue() == row.crc, "bundle: checksum of " + name);
    }

    private synchronized Group group(Row row) throws IOException {
        Group g = groups.get(row.offset);
        if (g == null) {
            g = new Group("group at " + row.offset, Archive.open(stored(row)));
            groups.put(row.offset, g);
        }
        return g;
    }

    @Override public void close() throws IOException { archive.close(); }

    /** An archive with many classic files (sections 6 and 7). */
    private static final class Group {
        private static final class Member {
            long length;
            int header, frame, headerAt;
            long[][] places;
            byte[] sha256;
        }

        private final String name;
        private final Archive archive;
        private final List<byte[]> frames = new ArrayList<>();
        private final Map<String, Member> members = new HashMap<>();

        Group(String name, Archive archive) throws IOException {
            this.name = name;
            this.archive = archive;
            List<Header.Variable> vars = archive.header().variables;
            Header.Attribute mark = Header.find(archive.header().attributes, "nc3z_packed");
            need(mark != null && mark.text().equals("1") && vars.size() >= 2 && vars.get(0).name().equals("nc3z_members") && vars.get(1).name().equals("nc3z_heads"), name + ": no group of a bundle");
            byte[] list = archive.read(vars.get(0));
            Bytes in = new Bytes(Packed.unpack(list, 0, list.length, name + ": list of members", LIST), name + ": list of members");
            need(in.u8() == 1, name + ": version of the list of members");
            byte[] heads = archive.read(vars.get(1));
            int at = 0;
            for (long i = in.count(Math.min(65536, in.left())); i > 0; i--) {
                int stored = in.count(heads.length - at), decoded = in.count(FRAME);
                byte[] frame = Packed.unpack(heads, at, at + stored, name + ": headers", FRAME);
                need(frame.length == decoded, name + ": length of a frame of headers");
                frames.add(frame);
                at += stored;
            }
            int count = in.count(Math.min(65536, in.left()));
            String[] names = new String[count];
            for (int i = 0; i < count; i++) names[i] = new String(in.take(in.varint(Integer.MAX_VALUE)), StandardCharsets.UTF_8);
            Member[] all = new Member[count];
            int[] used = new int[frames.size()];
            int frame = 0;
            long arrays = 4194304 + 16 * archive.size;
            for (int i = 0; i < count; i++) {
                Member m = all[i] = new Member();
                m.length = in.varint(Long.MAX_VALUE);
                m.header = in.count(FRAME);
                frame += in.count(frames.size());
                m.places = new long[in.count(Math.min(in.left(), arrays))][];
                arrays -= m.places.length;
                need(frame < frames.size() && m.header <= frames.get(frame).length - used[frame], names[i] + ": its header leaves the frame");
                m.frame = frame;
                m.headerAt = used[frame];
                used[frame] += m.header;
            }
            Map<Long, Long> last = new HashMap<>();
            for (Member m : all) {
                long column = 0;
                for (int k = 0; k < m.places.length; k++) {
                    column += signed(in) + 1;
                    long first = last.getOrDefault(column, 0L) + signed(in);
                    last.put(column, first);
                    m.places[k] = new long[] {column, first};
                }
            }
            for (int i = 0; i < count; i++) {
                all[i].sha256 = in.take(32);
                members.put(names[i], all[i]);
            }
            in.finish();
        }

        private static long signed(Bytes in) throws Nc3zException {
            long n = in.varint(Long.MAX_VALUE);
            return n >>> 1 ^ -(n & 1);
        }

        byte[] member(String file) throws IOException {
            Member m = members.get(file);
            need(m != null, name + ": has no member " + file);
            byte[] head = Arrays.copyOfRange(frames.get(m.frame), m.headerAt, m.headerAt + m.header);
            Header header = new Header(head, head.length);
            need(header.length == head.length && m.length >= head.length, file + ": length of its header");
            Classic classic = new Classic(header, m.length);
            byte[] out = Memory.bytes(m.length);
            System.arraycopy(head, 0, out, 0, head.length);
            int k = 0;
            for (Place p : classic.arrays.values()) {
                if (p.present == 0) continue;
                need(k < m.places.length, file + ": number of its arrays");
                long column = m.places[k][0], first = m.places[k++][1];
                DataType type = p.id >= 0 ? header.variables.get(p.id).type : DataType.BYTE;
                need(column >= 2 && column < archive.header().variables.size(), file + ": column " + column);
                Header.Variable v = archive.header().variables.get((int) column);
                need(v.type == type && first >= 0 && first <= archive.present(v) - p.present, file + ": run of column " + column);
                byte[] data = Memory.bytes(p.bytes());
                archive.values(v.id, first * type.size(), data, 0, data.length);
                p.runs(0, data.length, (at, array, n) -> System.arraycopy(data, (int) array, out, (int) at, (int) n));
            }
            need(k == m.places.length, file + ": number of its arrays");
            need(Arrays.equals(Dataset.sha256().digest(out), m.sha256), file + ": SHA-256");
            return out;
        }
    }

}
