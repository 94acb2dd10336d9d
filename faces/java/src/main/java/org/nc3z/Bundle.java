package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A bundle (spec/bundle.md): a ZIP of archives, classic files and others, and packed members in groups. */
public final class Bundle implements Closeable {
    private static final String INDEX = ".nc3z/index";
    private static final String GROUPS = ".nc3z/packed/";
    private static final Pattern COMMENT = Pattern.compile("nc3z-index ([0-9]{1,18}) ([0-9]{1,18}) ([0-9a-fA-F]{8})(?: ([0-9]{1,18}))?");
    private static final int HINT = 96;
    private static final int TAIL = 1 << 16;
    private static final int LIST = 64 << 20;
    private static final int FRAME = 4 << 20;

    /** First byte, length and checksum of each member of the ZIP. */
    private final Map<String, long[]> plain = new LinkedHashMap<>();
    /** The group of each packed member. */
    private final Map<String, String> packed = new LinkedHashMap<>();
    private final Map<String, long[]> places = new HashMap<>();
    private final Map<String, Group> groups = new HashMap<>();
    private final Source source;
    private final long size;

    private Bundle(Source source) throws IOException {
        this.source = source;
        long length = source.length();
        long[] hint = hint(length);
        long[] end = end(length);
        // Index of the end: offset, length, checksum, or null where another program wrote the end.
        long[] named = end == null || end.length == 3 ? null : Arrays.copyOfRange(end, 3, 6);
        byte[] index = null;
        long counts = length;
        if (hint == null) {
            index = whole(named);
        } else if (hint[3] == length) {
            index = whole(hint);
            index = index == null ? whole(named) : index;
            need(index != null, "bundle: its index is damaged");
        } else if (end == null) {
            need(length > hint[3], "bundle: its last " + (hint[3] - length) + " bytes are missing");
            counts = hint[3];
            index = whole(hint);
            need(index != null, "bundle: its index is damaged");
        } else if (named != null) {
            index = whole(named);
            boolean same = named[0] == hint[0] && named[1] == hint[1] && named[2] == hint[2];
            need(index != null && (length > hint[3] || same), length > hint[3] ? "bundle: its index is damaged" : "bundle: its last " + (hint[3] - length) + " bytes are missing");
        }
        size = counts;
        if (index != null) {
            index(index);
            return;
        }
        need(end != null, "bundle: no end record of a ZIP");
        directory(new Bytes(source.bytes(end[0], (int) end[1]), "bundle: list of members"), end[2]);
    }

    /** Opens a bundle. Closing it closes the source. */
    public static Bundle open(Source source) throws IOException { return new Bundle(source); }

    /** Offset, length and checksum of the index, and length of the bundle, as the first member's extra field says; or null. */
    private long[] hint(long length) throws IOException {
        byte[] head = source.bytes(0, (int) Math.min(30, length));
        need(head.length == 30 && Bytes.starts(head, 0, 'P', 'K', 3, 4), "bundle: no ZIP with members");
        int at = 30 + Bytes.u16(head, 26) + Bytes.u16(head, 28);
        if (at < 30 + HINT || at > length) return null;
        Matcher m = COMMENT.matcher(new String(source.bytes(at - HINT, HINT), StandardCharsets.ISO_8859_1).replace("\0", ""));
        return m.matches() && m.group(4) != null ? numbers(m, 4) : null;
    }

    private static long[] numbers(Matcher m, int count) {
        long[] out = new long[count];
        for (int k = 0; k < count; k++) out[k] = Long.parseLong(m.group(k + 1), k == 2 ? 16 : 10);
        return out;
    }

    /** Offset, length and entries of the list of members, and what the comment says of the index if it ends where the list begins; null without an end. */
    private long[] end(long length) throws IOException {
        int n = (int) Math.min(TAIL + 22, length);
        byte[] tail = source.bytes(length - n, n);
        for (int end = n - 22; end >= 0; end--) {
            if (!Bytes.starts(tail, end, 'P', 'K', 5, 6) || end + 22 + Bytes.u16(tail, end + 20) != n) continue;
            long count = Bytes.u16(tail, end + 10), bytes = Bytes.i32(tail, end + 12) & 0xFFFFFFFFL, at = Bytes.i32(tail, end + 16) & 0xFFFFFFFFL;
            long stop = length - n + end;
            if (count == 0xFFFF || bytes == 0xFFFFFFFFL || at == 0xFFFFFFFFL) {
                if (end < 20 || !Bytes.starts(tail, end - 20, 'P', 'K', 6, 7)) continue;
                stop = Bytes.i64(tail, end - 12);
                if (stop < 0 || stop > length - 56) continue;
                byte[] large = source.bytes(stop, 56);
                if (!Bytes.starts(large, 0, 'P', 'K', 6, 6)) continue;
                count = Bytes.i64(large, 32);
                bytes = Bytes.i64(large, 40);
                at = Bytes.i64(large, 48);
            }
            if (at < 0 || bytes < 0 || at > length - bytes || at + bytes != stop || count < 0 || count > bytes / 46) continue;
            Memory.room(bytes);
            Matcher m = COMMENT.matcher(new String(tail, end + 22, n - end - 22, StandardCharsets.ISO_8859_1));
            long[] index = m.matches() && m.group(4) == null ? numbers(m, 3) : null;
            return index == null || index[0] + index[1] != at ? new long[] {at, bytes, count} : new long[] {at, bytes, count, index[0], index[1], index[2]};
        }
        return null;
    }

    /** The index at a place, if its checksum is right. */
    private byte[] whole(long[] place) throws IOException {
        if (place == null || place[0] > source.length() - place[1]) return null;
        Memory.room(place[1]);
        byte[] out = source.bytes(place[0], (int) place[1]);
        return Bytes.crc(out) == (int) place[2] ? out : null;
    }

    private void directory(Bytes in, long count) throws IOException {
        for (long i = 0; i < count; i++) {
            int from = in.skip(46);
            byte[] d = in.data;
            need(Bytes.starts(d, from, 'P', 'K', 1, 2), "bundle: record " + i + " of the list of members");
            String name = new String(in.take(Bytes.u16(d, from + 28)), StandardCharsets.UTF_8);
            long stored = Bytes.i32(d, from + 20) & 0xFFFFFFFFL, length = Bytes.i32(d, from + 24) & 0xFFFFFFFFL, at = Bytes.i32(d, from + 42) & 0xFFFFFFFFL;
            Bytes extra = new Bytes(in.take(Bytes.u16(d, from + 30)), "bundle: " + name);
            in.skip(Bytes.u16(d, from + 32));
            while (extra.left() >= 4) {
                int tag = extra.u16();
                Bytes field = new Bytes(extra.take(extra.u16()), "bundle: " + name);
                if (tag == 1) {
                    length = length == 0xFFFFFFFFL ? field.i64() : length;
                    stored = stored == 0xFFFFFFFFL ? field.i64() : stored;
                    at = at == 0xFFFFFFFFL ? field.i64() : at;
                }
            }
            if (Bytes.u16(d, from + 10) != 0 || (Bytes.u16(d, from + 8) & 1) != 0) throw Nc3zException.unsupported("bundle: " + name + " is compressed or encrypted");
            need(stored == length && at >= 0 && at <= size - 30, "bundle: place of " + name);
            byte[] head = source.bytes(at, 30);
            long begin = at + 30 + Bytes.u16(head, 26) + Bytes.u16(head, 28);
            need(Bytes.starts(head, 0, 'P', 'K', 3, 4) && length >= 0 && begin <= size - length, "bundle: place of " + name);
            plain.put(name, new long[] {begin, length, Bytes.i32(d, from + 16)});
        }
    }

    private void index(byte[] d) throws IOException {
        need(d.length >= 16 && new String(d, 0, 8, StandardCharsets.ISO_8859_1).equals("nc3zidx2"), "bundle: its index");
        long length = Bytes.i64(d, 8);
        need(length >= 8 && length <= Integer.MAX_VALUE - 64, "bundle: an index of " + length + " bytes");
        Bytes in = new Bytes(Zstd.decode(d, 16, d.length - 16, (int) length, null), "bundle: index");
        Map<String, Object> list = Json.object(Json.parse(in.take(in.i64()), "bundle: index", 32, length));
        need(list != null && Json.list(list.get("members")) != null, "bundle: index without members");
        for (Object m : Json.list(list.get("members"))) {
            List<Object> member = Json.list(m);
            need(member != null && member.size() >= 5 && member.get(0) instanceof String && Json.list(member.get(4)) != null, "bundle: a member of the index");
            long[] place = new long[3];
            for (int k = 0; k < 3; k++) {
                need(member.get(k + 1) instanceof Long && (Long) member.get(k + 1) >= 0, "bundle: place of " + member.get(0));
                place[k] = (Long) member.get(k + 1);
            }
            need(place[0] <= size - place[1], "bundle: place of " + member.get(0));
            if (!member.get(0).equals(INDEX)) plain.put((String) member.get(0), place);
            for (Object p : Json.list(member.get(4))) {
                List<Object> part = Json.list(p);
                need(part != null && part.size() == 2 && part.get(1) instanceof Long, "bundle: a part of a head");
                in.skip((Long) part.get(1));
            }
        }
        List<Object> some = Json.list(list.get("packed"));
        for (Object g : some == null ? Collections.emptyList() : some) {
            List<Object> group = Json.list(g);
            need(group != null && group.size() == 3 && group.get(0) instanceof String && group.get(1) instanceof Long && group.get(2) instanceof Long, "bundle: a group of the index");
            String names = new String(in.take((Long) group.get(2)), StandardCharsets.UTF_8);
            String[] each = names.split("\0", -1);
            need(each.length == (Long) group.get(1) + 1 && each[each.length - 1].isEmpty(), "bundle: names of " + group.get(0));
            for (int i = 0; i < each.length - 1; i++) packed.put(each[i], (String) group.get(0));
        }
        need(plain.keySet().containsAll(packed.values()), "bundle: a group that is not there");
        for (String group : new java.util.HashSet<>(packed.values())) {
            need(group.startsWith(GROUPS), "bundle: the group " + group);
            places.put(group, plain.remove(group));
        }
    }

    /** The names of the members: of the ZIP, then of the groups. */
    public List<String> names() {
        List<String> out = new ArrayList<>(plain.keySet());
        out.addAll(packed.keySet());
        return out;
    }

    /** True if a member is packed in a group. */
    public boolean isPacked(String name) { return packed.containsKey(name); }

    /** A member as it is in the ZIP: an archive, or any file. A packed member is given whole, as the classic file that it is. */
    public Source member(String name) throws IOException {
        if (packed.containsKey(name)) return Source.of(group(packed.get(name)).member(name));
        long[] m = plain.get(name);
        if (m == null) throw Nc3zException.argument("the bundle has no member " + name);
        return Source.part(source, m[0], m[1]);
    }

    /** Writes a member as {@link #member} gives it, and compares it with its checksum. */
    public void copy(String name, OutputStream to) throws IOException {
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
        need(packed.containsKey(name) || (int) crc.getValue() == (int) plain.get(name)[2], "bundle: checksum of " + name);
    }

    private synchronized Group group(String name) throws IOException {
        Group g = groups.get(name);
        if (g == null) {
            long[] m = places.get(name);
            g = new Group(name, Archive.open(Source.part(source, m[0], m[1])));
            groups.put(name, g);
        }
        return g;
    }

    @Override public void close() throws IOException { source.close(); }

    /** An archive with many classic files (sections 3 and 4). */
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
