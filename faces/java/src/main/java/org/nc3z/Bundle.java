package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** A bundle (spec/bundle.md): a ZIP of archives, classic files and others, and packed members in groups. */
public final class Bundle implements Closeable {
    private static final String INDEX = ".nc3z/index";
    private static final String GROUPS = ".nc3z/packed/";
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
        size = committed();
        int n = (int) Math.min(TAIL + 22, size);
        byte[] tail = source.bytes(size - n, n);
        int end = n - 22;
        while (end >= 0 && !(Bytes.starts(tail, end, 'P', 'K', 5, 6) && end + 22 + Bytes.u16(tail, end + 20) <= n)) end--;
        need(end >= 0, "bundle: no end record of a ZIP");
        long count = Bytes.u16(tail, end + 10), length = Bytes.i32(tail, end + 12) & 0xFFFFFFFFL, at = Bytes.i32(tail, end + 16) & 0xFFFFFFFFL;
        if (count == 0xFFFF || length == 0xFFFFFFFFL || at == 0xFFFFFFFFL) {
            need(end >= 20 && Bytes.starts(tail, end - 20, 'P', 'K', 6, 7), "bundle: no end record of ZIP64");
            long where = Bytes.i64(tail, end - 12);
            need(where >= 0 && where <= size - 56, "bundle: end record of ZIP64 at " + where);
            byte[] long64 = source.bytes(where, 56);
            need(Bytes.starts(long64, 0, 'P', 'K', 6, 6), "bundle: no end record of ZIP64 at " + where);
            count = Bytes.i64(long64, 32);
            length = Bytes.i64(long64, 40);
            at = Bytes.i64(long64, 48);
        }
        need(at >= 0 && length >= 0 && at <= size - length && count >= 0 && count <= length / 46, "bundle: place of the list of members");
        Memory.room(length);
        directory(new Bytes(source.bytes(at, (int) length), "bundle: list of members"), count);
        String comment = new String(tail, end + 22, Bytes.u16(tail, end + 20), StandardCharsets.ISO_8859_1);
        long[] index = plain.get(INDEX);
        if (index != null && comment.startsWith("nc3z-index " + index[0] + " " + index[1] + " ") && index[0] + index[1] == at) {
            index(bytes(INDEX));
            plain.remove(INDEX);
        }
    }

    /** Opens a bundle. Closing it closes the source. */
    public static Bundle open(Source source) throws IOException { return new Bundle(source); }

    /** The length of the bundle without what an interrupted program appended (section 1). */
    private long committed() throws IOException {
        long length = source.length();
        byte[] head = source.bytes(0, (int) Math.min(30, length));
        need(head.length == 30 && Bytes.starts(head, 0, 'P', 'K', 3, 4), "bundle: no ZIP with members");
        int at = 30 + Bytes.u16(head, 26) + Bytes.u16(head, 28);
        if (at < 30 + HINT || at > length) return length;
        String[] words = new String(source.bytes(at - HINT, HINT), StandardCharsets.ISO_8859_1).replace("\0", "").trim().split(" ");
        if (words.length != 5 || !words[0].equals("nc3z-index") || !words[4].matches("[0-9]{1,18}") || Long.parseLong(words[4]) >= length) return length;
        byte[] tail = source.bytes(length - Math.min(TAIL + 22, length), (int) Math.min(TAIL + 22, length));
        for (int end = tail.length - 22; end >= 0; end--) {
            if (Bytes.starts(tail, end, 'P', 'K', 5, 6)) return end + 22 + Bytes.u16(tail, end + 20) == tail.length ? length : Long.parseLong(words[4]);
        }
        return Long.parseLong(words[4]);
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
            need(member != null && member.size() >= 5 && Json.list(member.get(4)) != null, "bundle: a member of the index");
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

    private byte[] bytes(String name) throws IOException {
        long[] m = plain.get(name);
        Memory.room(m[1]);
        byte[] out = source.bytes(m[0], (int) m[1]);
        need(Bytes.crc(out) == (int) m[2], "bundle: checksum of " + name);
        return out;
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
            for (long i = in.count(in.left()); i > 0; i--) {
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
            for (int i = 0; i < count; i++) {
                Member m = all[i] = new Member();
                m.length = in.varint(Long.MAX_VALUE);
                m.header = in.count(FRAME);
                frame += in.count(frames.size());
                m.places = new long[in.count(in.left())][];
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
