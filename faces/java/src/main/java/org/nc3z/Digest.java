package org.nc3z;

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;

/** Content digests and roots (spec/digest.md). */
public final class Digest {
    static final int LEAF = 4096;
    private static final int BRANCH = 32768;
    private static final int PIECE = 1 << 20;

    private final byte[] file;
    private final List<byte[]> variables;

    private Digest(byte[] file, List<byte[]> variables) {
        this.file = file;
        this.variables = variables;
    }

    /** The digest of the content, which is the root of the file. */
    public byte[] file() { return file.clone(); }

    /** The root as it is published: {@code nc3z1:} and 64 digits. */
    public String root() { return "nc3z1:" + Bytes.hex(file); }

    /** The digest of a variable. */
    public byte[] variable(int number) { return variables.get(number).clone(); }

    /** Computes the digests of a file and of its variables. */
    public static Digest of(Dataset data) throws IOException {
        Classic classic = data.classic();
        long aliased = 0;
        for (Place p : classic.places) {
            if (!classic.arrays.containsKey(p.id)) aliased = Bytes.plus(aliased, p.bytes());
        }
        if (aliased > Bytes.plus(Bytes.times(64, classic.length), 64L << 30)) throw Nc3zException.limit("variables that overlap span " + aliased + " bytes");
        List<byte[]> own = new ArrayList<>();
        Tree entries = new Tree();
        Out out = new Out("nc3z file entry 1\n");
        out.u64(classic.header.dimensions.size());
        for (Header.Dimension d : classic.header.dimensions) out.dimension(d);
        out.attributes(classic.header.attributes);
        entries.leaf(out.bytes());
        for (Header.Variable v : classic.header.variables) {
            long present = data.present(v);
            own.add(variable(v.type, v.shape, present, valuesRoot(data, v)));
            out = new Out("nc3z variable entry 1\n");
            out.string(v.rawName);
            out.u64(v.type.code());
            out.u64(v.dims.length);
            for (int d : v.dims) {
                out.u64(d);
                out.dimension(classic.header.dimensions.get(d));
            }
            out.u64(present);
            out.attributes(v.attributes);
            out.write(own.get(v.id));
            entries.leaf(out.bytes());
        }
        return new Digest(rootOf(1 + own.size(), entries.root()), own);
    }

    /** Bytes of a branch; Long.MAX_VALUE where all values are one. */
    static long branch(DataType type, long[] shape) {
        long size = type.size();
        for (int k = shape.length - 1; k > 0; k--) {
            size = Bytes.times(size, shape[k]);
            if (size >= BRANCH) return size;
        }
        return Long.MAX_VALUE;
    }

    private static byte[] valuesRoot(Dataset data, Header.Variable v) throws IOException {
        long branch = branch(v.type, v.shape), total = data.present(v) * v.type.size();
        Tree branches = new Tree(), leaves = new Tree();
        byte[] piece = new byte[(int) Math.min(PIECE, total)], leaf = new byte[LEAF];
        long inBranch = 0;
        int held = 0;
        for (long at = 0; at < total; at += piece.length) {
            int n = (int) Math.min(piece.length, total - at);
            data.values(v.id, at, piece, 0, n);
            for (int i = 0; i < n;) {
                int take = (int) Math.min(Math.min(LEAF - held, n - i), branch - inBranch);
                System.arraycopy(piece, i, leaf, held, take);
                held += take;
                i += take;
                inBranch += take;
                if (held == LEAF || inBranch == branch) {
                    leaves.leaf(leaf, held);
                    held = 0;
                }
                if (inBranch == branch) {
                    branches.node(leaves.root());
                    leaves = new Tree();
                    inBranch = 0;
                }
            }
        }
        if (held > 0) leaves.leaf(leaf, held);
        if (inBranch > 0) branches.node(leaves.root());
        return branches.root();
    }

    static byte[] variable(DataType type, long[] shape, long present, byte[] valuesRoot) throws IOException {
        Out out = new Out("nc3z variable 1\n");
        out.u64(type.code());
        out.u64(shape.length);
        for (long n : shape) out.u64(n);
        out.u64(present);
        out.write(valuesRoot);
        return Dataset.sha256().digest(out.bytes());
    }

    static byte[] rootOf(long entries, byte[] tree) throws IOException {
        Out out = new Out("nc3z root 1\n");
        out.u64(entries);
        out.write(tree);
        return Dataset.sha256().digest(out.bytes());
    }

    static byte[] node(MessageDigest sha, byte[] left, byte[] right) {
        sha.update((byte) 1);
        sha.update(left);
        return sha.digest(right);
    }

    /** What is hashed, big-endian. */
    private static final class Out extends DataOutputStream {
        Out(String magic) throws IOException {
            super(new ByteArrayOutputStream());
            write(magic.getBytes(StandardCharsets.US_ASCII));
        }

        byte[] bytes() { return ((ByteArrayOutputStream) out).toByteArray(); }

        void u64(long n) throws IOException { writeLong(n); }

        void string(byte[] s) throws IOException {
            u64(s.length);
            write(s);
        }

        void dimension(Header.Dimension d) throws IOException {
            string(d.rawName);
            u64(d.isRecord() ? 1 : 0);
            u64(d.length);
        }

        void attributes(List<Header.Attribute> list) throws IOException {
            u64(list.size());
            for (Header.Attribute a : list) {
                string(a.rawName);
                u64(a.type.code());
                u64(a.count());
                write(a.values);
            }
        }
    }

    /** The Merkle tree hash of RFC 9162 of leaves that come one after another. */
    static final class Tree {
        private final MessageDigest sha = Dataset.sha256();
        /** Roots of whole subtrees of descending sizes. */
        private final List<byte[]> roots = new ArrayList<>();
        private long count;

        void leaf(byte[] bytes) { leaf(bytes, bytes.length); }

        void leaf(byte[] bytes, int length) {
            sha.update((byte) 0);
            sha.update(bytes, 0, length);
            node(sha.digest());
        }

        void node(byte[] hash) {
            for (long n = count++; (n & 1) != 0; n >>= 1) hash = Digest.node(sha, roots.remove(roots.size() - 1), hash);
            roots.add(hash);
        }

        byte[] root() {
            if (roots.isEmpty()) return sha.digest();
            byte[] out = roots.get(roots.size() - 1);
            for (int i = roots.size() - 2; i >= 0; i--) out = Digest.node(sha, roots.get(i), out);
            return out;
        }
    }
}
