package org.nc3z;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.*;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks that a slice is a part of the dataset with a root (spec/proof.md). */
public final class Proof {
    private static final Pattern NPY = Pattern.compile("\\{'descr': '(...)', 'fortran_order': False, 'shape': \\(((?:[0-9]+, )*[0-9]+,?|)\\), \\} *\n");
    private static final Pattern VALUE = Pattern.compile("-?([0-9]+(\\.[0-9]+)?(e-?[0-9]+)?|inf)|NaN");
    private static final List<String> NPY_TYPES = Arrays.asList("|i1", "|S1", "<i2", "<i4", "<f4", "<f8", "|u1", "<u2", "<u4", "<i8", "<u8");

    private final MessageDigest sha = Dataset.sha256();

    private Proof() {}

    /** What a slice says of a variable; null for what its format does not say. */
    private static final class Own {
        byte[] name;
        DataType type;
        long[] shape;
        byte[][] dimensions;
        boolean[] records;
        List<Header.Attribute> attributes;
        byte[] values;
    }

    /** The entry of a variable or of the file. */
    private static final class Entry {
        byte[] name;
        DataType type;
        long[] numbers;
        byte[][] names;
        boolean[] records;
        long[] shape;
        long present;
        final List<Object[]> attributes = new ArrayList<>();
        byte[] digest;
    }

    private static void need(boolean truth, String why) throws Nc3zException {
        if (!truth) throw Nc3zException.corrupt("not proven: " + why);
    }

    /** Gives the hyperslabs that were proven, one a line; an error says why nothing was. {@code root} is the line {@code nc3z1:…}. */
    public static List<String> check(byte[] slice, byte[] proof, String root) throws IOException {
        try {
            return new Proof().all(slice, proof, root);
        } catch (Nc3zException e) {
            throw e.getMessage().startsWith("not proven") ? e : Nc3zException.corrupt("not proven: " + e.getMessage());
        } catch (ClassCastException | NullPointerException | IndexOutOfBoundsException | NegativeArraySizeException | IllegalArgumentException | ArithmeticException e) {
            throw Nc3zException.corrupt("not proven: a field of another kind than expected");
        }
    }

    private List<String> all(byte[] slice, byte[] text, String root) throws IOException {
        Map<String, Object> proof = Json.object(Json.parse(text, "proof", 127, Long.MAX_VALUE));
        need(proof != null, "no JSON object");
        keys(proof, "format", "root", "entries", "path", "variables", "?file", "?about");
        need(!proof.containsKey("about") || Json.object(proof.get("about")) != null, "`about` is not an object");
        need("nc3z proof 1".equals(proof.get("format")), "format " + proof.get("format"));
        need(root.equals(proof.get("root")), "the proof is of the root " + proof.get("root"));
        Long entries = Json.integer(proof, "entries", 1, Long.MAX_VALUE);
        need(entries != null, "no number of entries");
        List<List<Header.Attribute>> global = new ArrayList<>();
        List<Own> own = slice(slice, global);
        List<Object> parts = Json.list(proof.get("variables"));
        need(parts.size() == own.size() && !parts.isEmpty(), own.size() + " variables in the slice, " + parts.size() + " in the proof");
        TreeMap<Long, byte[]> known = new TreeMap<>();
        if (proof.containsKey("file")) {
            byte[] entry = decoded(proof.get("file"));
            need(!global.isEmpty() && same(global.get(0), entry(entry, true).attributes), "other global attributes");
            known.put(0L, leaf(entry, entry.length));
        } else {
            need(global.isEmpty() || global.get(0).isEmpty(), "global attributes that are not proven");
        }
        Map<Long, List<Object>> slabs = new HashMap<>();
        List<String> out = new ArrayList<>();
        long last = 0;
        for (int i = 0; i < own.size(); i++) {
            Map<String, Object> part = Json.object(parts.get(i));
            Entry e = variable(part, own.get(i));
            Long number = Json.integer(part, "number", last + 1, Long.MAX_VALUE);
            need(number != null, "variables in another order");
            last = number;
            byte[] bytes = decoded(part.get("entry"));
            known.put(last, leaf(bytes, bytes.length));
            for (int k = 0; k < e.shape.length; k++) {
                List<Object> slab = new ArrayList<>();
                for (String key : new String[] {"start", "count", "stride"}) slab.add(Json.list(part.get(key)).get(k));
                List<Object> before = slabs.putIfAbsent(e.numbers[k], slab);
                need(before == null || before.equals(slab), "two parts of one dimension");
            }
            out.add("proven: " + Cdl.quoted(Header.text(e.name)) + " start " + part.get("start") + " count " + part.get("count") + " stride " + part.get("stride"));
        }
        byte[] tree = fold(entries, 1, known, decoded(proof.get("path")));
        need(("nc3z1:" + Bytes.hex(Digest.rootOf(entries, tree))).equals(root), "entries that are not those of the root");
        return out;
    }

    private static void keys(Map<String, Object> object, String... names) throws Nc3zException {
        int found = 0;
        for (String name : names) {
            boolean may = name.startsWith("?"), has = object.containsKey(may ? name.substring(1) : name);
            need(has || may, "no `" + name + "`");
            found += has ? 1 : 0;
        }
        need(found == object.size(), "unknown keys");
    }

    private static byte[] decoded(Object text) throws Nc3zException {
        byte[] out = Base64.getDecoder().decode((String) text);
        need(Base64.getEncoder().encodeToString(out).equals(text), "base64 of another form");
        return out;
    }

    private byte[] leaf(byte[] bytes, int length) {
        sha.update((byte) 0);
        sha.update(bytes, 0, length);
        return sha.digest();
    }

    private static boolean same(List<Header.Attribute> own, List<Object[]> entry) {
        boolean out = own.size() == entry.size();
        for (int i = 0; out && i < own.size(); i++) {
            Object[] e = entry.get(i);
            Header.Attribute a = own.get(i);
            out = Arrays.equals(a.rawName, (byte[]) e[0]) && a.type == e[1] && Arrays.equals(a.values, (byte[]) e[2]);
        }
        return out;
    }

    private static long count(ByteBuffer in) throws Nc3zException {
        long n = in.getLong();
        need(n >= 0 && n <= in.remaining(), "an entry that is cut short");
        return n;
    }

    private static byte[] string(ByteBuffer in, long n) throws Nc3zException {
        need(n >= 0 && n <= in.remaining(), "an entry that is cut short");
        byte[] out = new byte[(int) n];
        in.get(out);
        return out;
    }

    private static Entry entry(byte[] data, boolean file) throws Nc3zException {
        try {
            byte[] magic = (file ? "nc3z file entry 1\n" : "nc3z variable entry 1\n").getBytes(StandardCharsets.US_ASCII);
            ByteBuffer in = ByteBuffer.wrap(data);
            need(Arrays.equals(string(in, magic.length), magic), "an entry of another kind");
            Entry e = new Entry();
            if (!file) {
                e.name = string(in, count(in));
                e.type = type(in);
            }
            int rank = (int) count(in);
            e.numbers = new long[rank];
            e.names = new byte[rank][];
            e.records = new boolean[rank];
            e.shape = new long[rank];
            for (int k = 0; k < rank; k++) {
                e.numbers[k] = file ? k : in.getLong();
                e.names[k] = string(in, count(in));
                long flag = in.getLong();
                need(flag == 0 || flag == 1, "a flag that is neither 0 nor 1");
                e.records[k] = flag == 1;
                e.shape[k] = in.getLong();
                need(e.shape[k] >= 0, "a length of 2^63 or more");
            }
            e.present = file ? 0 : in.getLong();
            need(e.present >= 0, "2^63 values or more");
            for (long i = count(in); i > 0; i--) {
                byte[] name = string(in, count(in));
                DataType type = type(in);
                e.attributes.add(new Object[] {name, type, string(in, Bytes.times(count(in), type.size()))});
            }
            e.digest = file ? null : string(in, 32);
            need(!in.hasRemaining(), "an entry with bytes too many");
            return e;
        } catch (java.nio.BufferUnderflowException ex) {
            throw Nc3zException.corrupt("not proven: an entry that is cut short");
        }
    }

    private static DataType type(ByteBuffer in) throws Nc3zException {
        long code = in.getLong();
        need(code >= 1 && code <= 11, "an unknown type");
        return DataType.of((int) code);
    }

    private static long[] numbers(Object list, int rank, long least) throws Nc3zException {
        List<Object> values = Json.list(list);
        need(values.size() == rank, "no hyperslab");
        long[] out = new long[rank];
        for (int k = 0; k < rank; k++) {
            out[k] = (Long) values.get(k);
            need(out[k] >= least, "no hyperslab");
        }
        return out;
    }

    private Entry variable(Map<String, Object> part, Own own) throws IOException {
        keys(part, "number", "entry", "start", "count", "stride", "nodes", "leaves", "?name");
        Entry e = entry(decoded(part.get("entry")), false);
        int rank = e.shape.length, size = e.type.size();
        long[] start = numbers(part.get("start"), rank, 0), count = numbers(part.get("count"), rank, 0), stride = numbers(part.get("stride"), rank, 1);
        need(!part.containsKey("name") || new String(e.name, StandardCharsets.UTF_8).equals(part.get("name")), "another name");
        long elements = 1;
        for (int k = 0; k < rank; k++) {
            need(start[k] <= e.shape[k] && (count[k] == 0 || count[k] - 1 <= (e.shape[k] - 1 - start[k]) / stride[k] && start[k] < e.shape[k]), "a hyperslab beyond its dimension");
            elements = Bytes.times(elements, count[k]);
        }
        need(own.name == null || Arrays.equals(own.name, e.name), "another name");
        need(own.type == e.type && Arrays.equals(own.shape, count), "another type or shape");
        need(own.attributes == null || same(own.attributes, e.attributes), "other attributes");
        if (own.dimensions != null) {
            need(Arrays.deepEquals(own.dimensions, e.names) && (own.records == null || Arrays.equals(own.records, e.records)), "other dimensions");
        }
        need(own.values.length == Bytes.times(elements, size), "another number of values");
        long branch = Digest.branch(e.type, e.shape), total = Bytes.times(e.present, size);
        long each = (branch - 1) / Digest.LEAF + 1;
        TreeMap<Long, List<int[]>> met = new TreeMap<>();
        if (elements > 0) {
            long[] index = new long[rank];
            for (int at = 0; at < own.values.length;) {
                long flat = 0;
                for (int k = 0; k < rank; k++) flat = flat * e.shape[k] + start[k] + index[k] * stride[k];
                // along the last dimension without a stride: one run
                long run = rank > 0 && stride[rank - 1] == 1 ? count[rank - 1] : 1;
                long first = flat * size, end = first + run * size;
                need(flat >= 0 && end <= total, "values that the dataset does not have");
                while (first < end) {
                    long leaf = first / branch * each + first % branch / Digest.LEAF;
                    int within = (int) (first % branch % Digest.LEAF);
                    int take = (int) Math.min(end - first, Math.min(Digest.LEAF - within, branch - first % branch));
                    met.computeIfAbsent(leaf, x -> new ArrayList<>()).add(new int[] {within, at, take});
                    first += take;
                    at += take;
                }
                int k = rank - 1;
                if (run == 1 && k >= 0 && stride[k] != 1) {
                    if (++index[k] < count[k]) continue;
                    index[k] = 0;
                }
                for (k--; k >= 0 && ++index[k] == count[k]; k--) index[k] = 0;
            }
        }
        byte[] leaves = decoded(part.get("leaves"));
        TreeMap<Long, byte[]> known = new TreeMap<>();
        int used = 0;
        for (Map.Entry<Long, List<int[]>> m : met.entrySet()) {
            long number = m.getKey(), begin = number / each * branch + number % each * Digest.LEAF;
            int length = (int) Math.min(Math.min(Digest.LEAF, (number / each == total / branch ? total : (number / each + 1) * branch) - begin), total - begin);
            int sum = 0;
            for (int[] p : m.getValue()) sum += p[2];
            byte[] data;
            if (sum == length) {
                int from = m.getValue().get(0)[1];
                data = Arrays.copyOfRange(own.values, from, from + length);
            } else {
                need(length <= leaves.length - used, "a leaf is missing");
                data = Arrays.copyOfRange(leaves, used, used + length);
                used += length;
                for (int[] p : m.getValue()) {
                    for (int i = 0; i < p[2]; i++) need(data[p[0] + i] == own.values[p[1] + i], "values that are not those of their leaf");
                }
            }
            known.put(number, leaf(data, length));
        }
        need(used == leaves.length, "leaves that the hyperslab does not meet");
        long rest = total % branch;
        byte[] root = fold(total / branch * each + (rest == 0 ? 0 : (rest - 1) / Digest.LEAF + 1), each, known, decoded(part.get("nodes")));
        need(Arrays.equals(Digest.variable(e.type, e.shape, e.present, root), e.digest), "values that are not those of the hyperslab");
        return e;
    }

    private byte[] fold(long count, long each, TreeMap<Long, byte[]> known, byte[] nodes) throws Nc3zException {
        need(nodes.length % 32 == 0, "nodes of 32 bytes");
        need(known.isEmpty() || known.lastKey() < count, "a leaf beyond the end");
        int[] used = {0};
        byte[] root = count == 0 ? sha.digest() : part(0, count, each, known, nodes, used);
        need(used[0] == nodes.length, "too many nodes");
        return root;
    }

    private byte[] part(long first, long n, long each, TreeMap<Long, byte[]> known, byte[] nodes, int[] used) throws Nc3zException {
        Long next = known.ceilingKey(first);
        if (next == null || next - first >= n) {
            need(used[0] + 32 <= nodes.length, "too few nodes");
            used[0] += 32;
            return Arrays.copyOfRange(nodes, used[0] - 32, used[0]);
        }
        if (n == 1) return known.get(first);
        long unit = n > each ? each : 1, k = unit * Long.highestOneBit((n - 1) / unit);
        byte[] left = part(first, k, each, known, nodes, used);
        return Digest.node(sha, left, part(first + k, n - k, each, known, nodes, used));
    }

    // ------------------------------------------------------------ section 1: slices

    private static List<Own> slice(byte[] data, List<List<Header.Attribute>> global) throws IOException {
        if (Bytes.starts(data, 0, 'C', 'D', 'F', data.length > 3 ? data[3] : -1)) {
            ClassicFile file = ClassicFile.open(Source.of(data));
            global.add(file.header().attributes);
            List<Own> out = new ArrayList<>();
            boolean[] met = new boolean[file.header().dimensions.size()];
            for (Header.Variable v : file.header().variables) {
                Own own = new Own();
                own.name = v.rawName;
                own.type = v.type;
                own.shape = v.shape;
                own.attributes = v.attributes;
                own.dimensions = new byte[v.dims.length][];
                own.records = new boolean[v.dims.length];
                for (int k = 0; k < v.dims.length; k++) {
                    met[v.dims[k]] = true;
                    own.dimensions[k] = file.header().dimensions.get(v.dims[k]).rawName;
                    own.records[k] = file.header().dimensions.get(v.dims[k]).isRecord();
                }
                own.values = file.read(v);
                out.add(own);
            }
            for (boolean m : met) need(m, "a dimension of no variable");
            return out;
        }
        return Arrays.asList(data.length > 6 && Arrays.equals(Arrays.copyOf(data, 6), new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'}) ? npy(data) : csv(data));
    }

    private static Own npy(byte[] data) throws Nc3zException {
        Bytes in = new Bytes(data, 6, data.length, "npy file");
        int major = in.u8();
        need((major == 1 || major == 2) && in.u8() == 0, "an npy file of another version");
        Matcher m = NPY.matcher(new String(in.take(major == 1 ? in.u16() : in.u32()), StandardCharsets.ISO_8859_1));
        need(m.matches() && NPY_TYPES.contains(m.group(1)), "an npy file of another kind");
        Own own = new Own();
        own.type = DataType.of(NPY_TYPES.indexOf(m.group(1)) + 1);
        String[] lengths = m.group(2).isEmpty() ? new String[0] : m.group(2).split(",\\s*");
        own.shape = Arrays.stream(lengths).mapToLong(Long::parseLong).toArray();
        own.values = in.rest();
        int size = own.type.size();
        need(own.values.length % size == 0, "an npy file of another length");
        for (int at = 0; at < own.values.length; at += size) {
            for (int a = at, b = at + size - 1; a < b; a++, b--) {
                byte t = own.values[a];
                own.values[a] = own.values[b];
                own.values[b] = t;
            }
        }
        return own;
    }

    private static Own csv(byte[] data) throws IOException {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
        } catch (java.nio.charset.CharacterCodingException e) {
            throw Nc3zException.corrupt("not proven: neither netCDF nor npy nor UTF-8");
        }
        String[] rows = text.split("\n", -1);
        String[] head = rows[0].split(",", -1);
        Own own = new Own();
        int rank = head.length - 1;
        own.shape = new long[rank];
        own.dimensions = new byte[rank][];
        long elements = 1;
        for (int k = 0; k <= rank; k++) {
            String[] word = head[k].split(":", -1);
            need(word.length == 2, "no CSV of a slice");
            byte[] name = word[0].getBytes(StandardCharsets.UTF_8);
            if (k == 0) {
                own.name = name;
                need(word[1].equals(word[1].toLowerCase(Locale.ROOT)), "no CSV of a slice");
                own.type = DataType.valueOf(word[1].toUpperCase(Locale.ROOT));
            } else {
                need(word[1].matches("[0-9]+"), "no CSV of a slice");
                own.dimensions[k - 1] = name;
                own.shape[k - 1] = Long.parseLong(word[1]);
                elements = Bytes.times(elements, own.shape[k - 1]);
            }
        }
        need(rows.length - 2 == elements && rows[rows.length - 1].isEmpty(), "CSV of another length");
        ByteBuffer out = ByteBuffer.allocate((int) elements * own.type.size()).order(ByteOrder.BIG_ENDIAN);
        for (int i = 0; i < elements; i++) {
            String[] row = rows[i + 1].split(",", -1);
            need(row.length == rank + 1 && VALUE.matcher(row[0]).matches(), "a row that is not a value of a slice");
            long rest = i;
            for (int k = rank - 1; k >= 0; k--) {
                need(row[k + 1].equals(String.valueOf(rest % own.shape[k])), "a row in another place");
                rest /= own.shape[k];
            }
            value(own.type, row[0], out);
        }
        own.values = out.array();
        return own;
    }

    private static void value(DataType type, String text, ByteBuffer out) throws Nc3zException {
        if (type.isReal()) {
            String java = text.replace("inf", "Infinity");
            if (type == DataType.FLOAT) out.putFloat(Float.parseFloat(java));
            else out.putDouble(Double.parseDouble(java));
            return;
        }
        java.math.BigInteger n = new java.math.BigInteger(text);
        int bits = 8 * type.size();
        need(type.isUnsigned() ? text.charAt(0) != '-' && n.bitLength() <= bits : n.bitLength() < bits, "a number beyond its type");
        for (int k = bits - 8; k >= 0; k -= 8) out.put((byte) n.shiftRight(k).intValue());
    }
}
