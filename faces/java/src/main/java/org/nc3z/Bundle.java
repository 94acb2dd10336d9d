package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** A bundle (spec/catalogue.md, sections 5 and 6): an archive with a table of files, their bytes, and packed members in groups. */
public final class Bundle implements Closeable {
    private static final int PACKED = 3, KINDS = 6;
    private static final int NAME = 16384;
    private static final int HEADER = 4 << 20, SHA256 = 32;

    /** What the table says of a member. */
    private static final class Row {
        int number, kind, crc, header, member;
        long offset, length, fileLength;
        boolean twice;
    }

    private final Archive archive;
    private final Header.Variable content, headers, sums;
    /** The first byte of each header, and the end of the last. */
    private final long[] headerAt;
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
            sizes = column("file_stored_size", DataType.INT64), crcs = column("file_crc32", DataType.UINT), names = column("file_name", DataType.CHAR),
            fileLengths = column("file_size", DataType.INT64), fileHeaders = column("file_header", DataType.INT), members = column("file_group_member", DataType.INT),
            headerLengths = column("header_length", DataType.INT);
        int files = lengths.remaining() / 4;
        need(files <= 65536 + 16 * archive.size, "bundle: " + files + " files in " + archive.size + " bytes");
        need(kinds.remaining() == files && offsets.remaining() / 8 == files && sizes.remaining() / 8 == files && crcs.remaining() / 4 == files
            && fileLengths.remaining() / 8 == files && fileHeaders.remaining() / 4 == files && members.remaining() / 4 == files, "bundle: columns of different lengths");
        headers = find("header_bytes", DataType.CHAR);
        sums = archive.header().variables.stream().filter(v -> v.name().equals("file_sha256")).findFirst().orElse(null);
        need(files == 0 || sums != null && sums.type == DataType.UBYTE && archive.present(sums) == (long) SHA256 * files, "bundle: file_sha256");
        headerAt = new long[headerLengths.remaining() / 4 + 1];
        for (int i = 0; headerLengths.hasRemaining(); i++) {
            int length = headerLengths.getInt();
            need(length >= 0, "bundle: length of header " + i);
            headerAt[i + 1] = headerAt[i] + length;
        }
        for (int i = 0; i < files; i++) {
            int length = lengths.getInt();
            need(length >= 0 && length <= NAME && length <= names.remaining(), "bundle: length of name " + i);
            byte[] raw = new byte[length];
            names.get(raw);
            String name = new String(raw, StandardCharsets.UTF_8);
            Row row = new Row();
            row.number = i;
            row.kind = kinds.get();
            row.offset = offsets.getLong();
            row.length = sizes.getLong();
            row.crc = crcs.getInt();
            row.fileLength = fileLengths.getLong();
            row.header = fileHeaders.getInt();
            row.member = members.getInt();
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
        return row.kind == PACKED ? Source.of(packed(row, name)) : stored(row);
    }

    /** A packed member, which is compared with its SHA-256. */
    private byte[] packed(Row row, String name) throws IOException {
        need(row.fileLength >= 0 && row.header >= 0 && row.header < headerAt.length - 1, "bundle: header of " + name);
        long at = headerAt[row.header], length = headerAt[row.header + 1] - at;
        need(length <= HEADER && (headers == null ? 0 : archive.present(headers)) - length >= at, "bundle: header of " + name);
        byte[] head = new byte[(int) length], sum = new byte[SHA256];
        if (length > 0) archive.values(headers.id, at, head, 0, head.length);
        archive.values(sums.id, (long) SHA256 * row.number, sum, 0, SHA256);
        byte[] file = group(row).member(name, row.member, row.fileLength, head);
        need(Arrays.equals(Dataset.sha256().digest(file), sum), name + ": SHA-256");
        return file;
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

    /** An archive with the arrays of many classic files (section 6). */
    private static final class Group {
        private static final String[] LIST = {"member_arrays", "array_column", "array_step"};
        private static final int MEMBERS = 65536;

        private final String name;
        private final Archive archive;
        /** The arrays before those of each member, and of all. */
        private final int[] begins;
        private final int[] columns, firsts;

        Group(String name, Archive archive) throws IOException {
            this.name = name;
            this.archive = archive;
            Header.Attribute mark = Header.find(archive.header().attributes, "nc3z_packed");
            need(mark != null && mark.text().equals("1"), name + ": no group of a bundle");
            long most = 4194304 + 16 * archive.size;
            int[] counts = values(0, MEMBERS);
            columns = values(1, most);
            firsts = values(2, most);
            need(columns.length == firsts.length, name + ": number of arrays");
            begins = new int[counts.length + 1];
            for (int i = 0; i < counts.length; i++) {
                need(counts[i] >= 0 && counts[i] <= columns.length - begins[i], name + ": number of arrays of member " + i);
                begins[i + 1] = begins[i] + counts[i];
            }
            need(begins[counts.length] == columns.length, name + ": number of arrays");
            Map<Integer, Long> last = new HashMap<>();
            for (int k = 0; k < columns.length; k++) {
                long first = last.getOrDefault(columns[k], 0L) + firsts[k];
                need(first >= 0 && first <= Integer.MAX_VALUE, name + ": place of array " + k);
                last.put(columns[k], first);
                firsts[k] = (int) first;
            }
        }

        /** The values of a variable of the list. */
        private int[] values(int number, long most) throws IOException {
            List<Header.Variable> vars = archive.header().variables;
            need(number < vars.size() && vars.get(number).name().equals(LIST[number]) && vars.get(number).type == DataType.INT, name + ": no variable " + LIST[number]);
            long count = archive.present(vars.get(number));
            need(count <= most, name + ": " + count + " values of " + LIST[number]);
            int[] out = new int[(int) count];
            ByteBuffer.wrap(archive.read(vars.get(number))).asIntBuffer().get(out);
            return out;
        }

        byte[] member(String file, int member, long length, byte[] head) throws IOException {
            need(member >= 0 && member < begins.length - 1, name + ": has no member " + member);
            Header header = new Header(head, head.length);
            need(header.length == head.length && length >= head.length, file + ": length of its header");
            Classic classic = new Classic(header, length);
            byte[] out = Memory.bytes(length);
            System.arraycopy(head, 0, out, 0, head.length);
            int k = begins[member], end = begins[member + 1];
            for (Place p : classic.arrays.values()) {
                if (p.present == 0) continue;
                need(k < end, file + ": number of its arrays");
                int column = columns[k], first = firsts[k++];
                DataType type = p.id >= 0 ? header.variables.get(p.id).type : DataType.BYTE;
                need(column >= LIST.length && column < archive.header().variables.size(), file + ": column " + column);
                Header.Variable v = archive.header().variables.get(column);
                need(v.type == type && first <= archive.present(v) - p.present, file + ": run of column " + column);
                byte[] data = Memory.bytes(p.bytes());
                archive.values(v.id, (long) first * type.size(), data, 0, data.length);
                p.runs(0, data.length, (at, array, n) -> System.arraycopy(data, (int) array, out, (int) at, (int) n));
            }
            need(k == end, file + ": number of its arrays");
            return out;
        }
    }

}
