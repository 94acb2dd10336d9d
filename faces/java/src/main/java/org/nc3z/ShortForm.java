package org.nc3z;

import static org.nc3z.Nc3zException.*;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.*;

/** The short form of small archives (spec/archive.md, section 12), and the long form that it stands for. */
final class ShortForm {
    private static final int PREFIX = 68;
    private static final int MOST = 65536;
    private static final int CONTENT = 1 << 20;
    private static final int ENTRIES = 1 << 14;
    private static final int TILE_LIMIT = 32;
    private static final String WORDS = "netCDF in nc3z\r\n";
    private static final String TEXT = "\nnetCDF in nc3z\nnc3z restore FILE\nFormat: nc3z spec/archive.md\n\n";
    private static final String WHAT = "short form";

    private final byte[] data;
    private final Bytes payloads;
    private final byte[] sha256, content;
    /** Bytes up to the end of the last payload. */
    long length;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private byte[] salt;
    private int lossy;
    private final TreeMap<Long, TreeMap<Long, byte[]>> entries = new TreeMap<>();
    private int count;

    ShortForm(Source source) throws IOException {
        data = source.bytes(0, (int) Math.min(MOST, source.length()));
        payloads = new Bytes(data, WHAT);
        payloads.skip(PREFIX);
        long stored = Bytes.i32(data, 12) & 0xFFFFFFFFL;
        if (stored > MOST - PREFIX) throw limit(WHAT + ": " + stored + " bytes of content, at most " + (MOST - PREFIX) + " expected");
        int from = payloads.skip(stored);
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(data, 0, 16);
        crc.update(data, 20, payloads.at - 20);
        need((int) crc.getValue() == Bytes.i32(data, 16), WHAT + ": checksum of prefix and content");
        need(new String(data, 20, 16, StandardCharsets.ISO_8859_1).equals(WORDS), WHAT + ": its text");
        sha256 = Arrays.copyOfRange(data, 36, 68);
        content = Packed.unpack(data, from, payloads.at, WHAT, CONTENT);
    }

    /** The bytes of the long form. */
    byte[] expand() throws IOException {
        Bytes in = new Bytes(data[9] == 2 ? listing() : content, WHAT);
        long required = in.varint();
        if ((required & ~7L) != 0) throw unsupported(WHAT + ": required features 0x" + Long.toHexString(required));
        need(required <= 1, WHAT + ": required features " + required);
        lossy = (int) required;
        long original = in.varint(Long.MAX_VALUE);
        byte[] head = in.take(in.varint(CONTENT)), metadata = in.take(in.varint(CONTENT));
        Bytes inHead = new Bytes(head, WHAT + ": head");
        byte[] header = inHead.take(inHead.varint(CONTENT));
        MessageDigest sha = Dataset.sha256();
        sha.update(Dataset.sha256().digest(header));
        sha.update(little(8).putLong(0, original).array());
        salt = Arrays.copyOf(sha.digest(), 8);
        System.arraycopy(sha256, 0, salt, 4, 4);

        ByteBuffer first = little(160);
        first.put(data, 0, 8).putShort(Archive.MAJOR).putShort(Archive.MINOR).putInt(0).put(salt).putLong(original).putInt(head.length).putInt(head.length).putInt(Bytes.crc(head));
        first.position(48);
        first.put(TEXT.getBytes(StandardCharsets.US_ASCII));
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(first.array(), 0, 44);
        crc.update(first.array(), 48, 64);
        first.putInt(44, (int) crc.getValue());
        out.write(first.array());
        out.write(head);

        long begin = align();
        int containers = 0, lists = 0, blocks = in.count(in.left());
        for (int i = 0; i < blocks; i++) {
            int code = in.u8(), kind = code & 3;
            boolean inside = (code & 4) != 0;
            need(code < 8, WHAT + ": a block of kind " + code);
            need(kind != 3 || inside, WHAT + ": a constants list outside");
            int variable = kind == 1 ? Archive.CONTAINERS : 0xC0000002;
            long tile = kind == 1 ? containers++ : kind == 3 ? lists++ : 0;
            List<long[]> members = new ArrayList<>();
            byte[] table = new byte[0];
            if (kind == 1) {
                table = members(in, members);
            } else if (kind != 3) {
                variable = (int) in.varint(0xFFFFFFFFL);
                tile = in.varint();
            }
            byte[] payload;
            int chain = 0;
            long decoded;
            int decodedCrc, payloadCrc;
            if (inside) {
                long bytes = 0;
                for (long[] m : members) bytes = Bytes.plus(bytes, m[3]);
                byte[] own = in.take(kind == 1 ? bytes : in.varint(CONTENT));
                payload = Arrays.copyOf(table, table.length + own.length);
                System.arraycopy(own, 0, payload, table.length, own.length);
                payloadCrc = payloadCrc(variable, tile, payload);
                decoded = payload.length;
                decodedCrc = Bytes.crc(payload);
            } else {
                chain = in.count(65535);
                long stored = in.varint(0xFFFFFFFFL);
                payloadCrc = in.i32();
                payload = payloads.take(stored);
                decoded = chain == 0 ? stored : in.varint(0xFFFFFFFFL);
                decodedCrc = chain == 0 ? Bytes.crc(payload) : in.i32();
            }
            long offset = align();
            ByteBuffer b = little(44);
            b.put(new byte[] {(byte) 0xB1, 'N', 'C', 'b'}).putInt(1).putInt(variable).put((byte) kind).put((byte) lossy).putShort((short) chain).putLong(tile)
                .putInt((int) decoded).putInt(payload.length).putInt(payloadCrc).putInt(decodedCrc);
            int check = Bytes.saltedCrc(salt, offset, b.array(), 0, 40);
            out.write(b.putInt(check).array());
            out.write(payload);
            if (kind == 1) {
                long at = table.length;
                for (long[] m : members) {
                    need(at + m[3] <= payload.length || !inside, WHAT + ": a member beyond its container");
                    entry(m[0], m[1], 3, (int) m[2], (int) m[3], offset, (int) m[4], (int) at);
                    at += m[3];
                }
            } else if (kind == 3) {
                constants(payload);
            } else {
                entry(variable & 0xFFFFFFFFL, tile, 1, chain, payload.length, offset, check, 0);
            }
        }
        in.finish();
        length = payloads.at;
        long end = align();
        byte[] variables = table();
        ByteBuffer sections = little(72);
        section(sections, 1, head, 160);
        section(sections, 2, variables, align());
        out.write(variables);
        section(sections, 3, metadata, align());
        out.write(metadata);
        long at = align();
        out.write(sections.array());
        long offset = out.size();
        ByteBuffer t = little(128);
        t.put(new byte[] {(byte) 0xB1, 'N', 'C', 't'}).putInt(1).put(salt).putInt(lossy).putInt(0).putLong(at).putInt(72).putInt(Bytes.saltedCrc(salt, at, sections.array(), 0, 72))
            .putLong(begin).putLong(end).putLong(0).putLong(offset + 128).putLong(original).put(sha256).putInt(1).putInt(0);
        t.putInt(Bytes.saltedCrc(salt, offset, t.array(), 0, 120)).put(new byte[] {'C', 'Z', '\r', '\n'});
        out.write(t.array());
        return out.toByteArray();
    }

    private static ByteBuffer little(int size) { return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN); }

    private static void section(ByteBuffer to, int kind, byte[] bytes, long offset) {
        to.putShort((short) kind).putShort((short) 0).putInt(Bytes.crc(bytes)).putLong(offset).putLong(bytes.length);
    }

    static int payloadCrc(int variable, long tile, byte[] payload) {
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        ByteBuffer key = little(12);
        key.putInt(variable).putLong(tile);
        crc.update(key.array(), 0, 12);
        crc.update(payload, 0, payload.length);
        return (int) crc.getValue();
    }

    private long align() {
        while (out.size() % 8 != 0) out.write(0);
        return out.size();
    }

    private static void varint(ByteArrayOutputStream to, long n) {
        while ((n & ~127L) != 0) {
            to.write((int) (n & 127) | 128);
            n >>>= 7;
        }
        to.write((int) n);
    }

    /** Reads a container's columns: variable, tile, chain, stored length, checksum. Gives the member table with its length. */
    private static byte[] members(Bytes in, List<long[]> members) throws IOException {
        int n = in.count(in.left() / 4);
        long following = 0;
        for (int i = 0; i < n; i++) {
            long id = following + in.varint(0xFFFFFFFFL) & 0xFFFFFFFFL;
            members.add(new long[] {id, 0, 0, 0, 0});
            following = id + 1;
        }
        for (int k = 1; k < 4; k++) {
            for (long[] m : members) m[k] = k == 1 ? in.varint() : in.varint(k == 2 ? 65535 : 0xFFFFFFFFL);
        }
        for (long[] m : members) m[4] = in.i32();
        ByteArrayOutputStream table = new ByteArrayOutputStream();
        varint(table, n);
        for (long[] m : members) {
            for (int k = 0; k < 4; k++) varint(table, m[k]);
        }
        ByteBuffer out = little(4 + table.size());
        out.putInt(table.size()).put(table.toByteArray());
        return out.array();
    }

    private void entry(long variable, long tile, int kind, int chain, int stored, long offset, int check, int start) throws Nc3zException {
        ByteBuffer e = little(24);
        e.put((byte) kind).put((byte) 0).putShort((short) chain).putInt(stored).putLong(offset).putInt(check).putInt(start);
        need(++count <= ENTRIES, WHAT + ": more than " + ENTRIES + " tiles");
        byte[] before = entries.computeIfAbsent(variable, v -> new TreeMap<>(Long::compareUnsigned)).put(tile, e.array());
        need(before == null, WHAT + ": array 0x" + Long.toHexString(variable) + " tile " + tile + " twice");
    }

    private void constants(byte[] list) throws Nc3zException {
        Bytes in = new Bytes(list, WHAT + ": constants list");
        while (in.left() > 0) {
            long variable = in.varint(0xFFFFFFFFL), first = in.varint(TILE_LIMIT), n = in.varint(TILE_LIMIT);
            need(n >= 1 && first + n <= TILE_LIMIT, WHAT + ": constant tiles of an array beyond " + TILE_LIMIT);
            int size = in.u8();
            need(size == 1 || size == 2 || size == 4 || size == 8, WHAT + ": elements of " + size + " bytes");
            long value = 0;
            for (int i = 0; i < size; i++) value |= (long) in.u8() << 8 * i;
            for (long tile = first; tile < first + n; tile++) entry(variable, tile, 2, 0, 0, value, 0, 0);
        }
    }

    private byte[] table() throws Nc3zException {
        ByteBuffer rows = little(20 * entries.size());
        ByteBuffer all = little(24 * count);
        for (Map.Entry<Long, TreeMap<Long, byte[]>> array : entries.entrySet()) {
            long next = 0;
            for (Map.Entry<Long, byte[]> e : array.getValue().entrySet()) {
                need(e.getKey() == next, WHAT + ": array 0x" + Long.toHexString(array.getKey()) + " has no tile " + next);
                next++;
                all.put(e.getValue());
            }
            need(next <= TILE_LIMIT, WHAT + ": array 0x" + Long.toHexString(array.getKey()) + " has " + next + " tiles");
            rows.putInt((int) (long) array.getKey()).putLong(next).putLong(0);
        }
        ByteBuffer t = little(8 + rows.capacity() + all.capacity());
        t.putInt(entries.size()).putInt(count).put(shuffle(rows.array(), 20)).put(shuffle(all.array(), 24));
        return t.array();
    }

    private static byte[] shuffle(byte[] in, int size) {
        byte[] shuffled = new byte[in.length];
        int n = in.length / size;
        for (int i = 0; i < in.length; i++) shuffled[i % size * n + i / size] = in[i];
        return shuffled;
    }

    /** The listing that a file as a whole stands for. */
    private byte[] listing() throws IOException {
        Bytes in = new Bytes(content, WHAT);
        long required = in.varint();
        byte[] metadata = in.take(in.varint(CONTENT)), file = in.rest();
        Header header = new Header(file, file.length);
        Classic classic = new Classic(header, file.length);
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        varint(head, header.length);
        head.write(file, 0, header.length);
        varint(head, 4);
        head.write("[[]]".getBytes(StandardCharsets.US_ASCII));
        for (Header.Variable v : header.variables) {
            Place place = classic.arrays.get(v.id);
            varint(head, 0);
            varint(head, place == null ? 1 : Math.max(1, place.present));
        }
        for (int id : classic.paddings) varint(head, Math.max(1, classic.arrays.get(id).present));
        varint(head, Math.max(1, classic.arrays.get(Classic.GAP).present));
        ByteArrayOutputStream made = new ByteArrayOutputStream();
        varint(made, required);
        varint(made, file.length);
        varint(made, head.size());
        head.writeTo(made);
        varint(made, metadata.length);
        made.write(metadata);
        List<Place> some = new ArrayList<>();
        for (Place p : classic.arrays.values()) {
            if (p.present > 0) some.add(p);
        }
        varint(made, some.isEmpty() ? 0 : 1);
        if (!some.isEmpty()) {
            made.write(5);
            varint(made, some.size());
            ByteArrayOutputStream lengths = new ByteArrayOutputStream(), checks = new ByteArrayOutputStream(), bytes = new ByteArrayOutputStream();
            long following = 0;
            for (Place p : some) {
                long id = p.id & 0xFFFFFFFFL;
                varint(made, id - following & 0xFFFFFFFFL);
                following = id + 1;
                varint(lengths, p.bytes());
                java.util.zip.CRC32 crc = new java.util.zip.CRC32();
                p.runs(0, p.bytes(), (at, array, n) -> {
                    bytes.write(file, (int) at, (int) n);
                    crc.update(file, (int) at, (int) n);
                });
                checks.write(little(4).putInt(0, (int) crc.getValue()).array());
            }
            made.write(new byte[2 * some.size()]);
            lengths.writeTo(made);
            checks.writeTo(made);
            bytes.writeTo(made);
        }
        return made.toByteArray();
    }
}
