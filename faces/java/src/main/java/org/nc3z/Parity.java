package org.nc3z;

import static org.nc3z.Nc3zException.need;

import java.io.IOException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;

/** Finds and checks parity (spec/parity.md): packets, checksums of shards, and the SHA-256 of what they cover. It mends nothing. */
final class Parity {
    private Parity() {}

    /** Checks the region {@code begin} to {@code begin + length} of a generation; {@code notes} takes a line on what it covers, where it counts. */
    static void check(Archive archive, long begin, long length, List<String> notes) throws IOException {
        String what = "parity at " + begin;
        need(length >= 128, what + ": " + length + " bytes");
        byte[] head = archive.source.bytes(begin, 64);
        int shard = 64 * (head[62] & 255), packet = 64 * (head[63] & 255), parity = Bytes.u16(head, 52);
        long end = Bytes.i64(head, 24), total = Bytes.i64(head, 32);
        long groups = Bytes.i32(head, 48) & 0xFFFFFFFFL, packetGroups = Bytes.i32(head, 56) & 0xFFFFFFFFL;
        int packetParity = Bytes.u16(head, 60);
        need(Bytes.starts(head, 0, 0xB1, 'N', 'C', 'p') && shard > 0 && shard <= 4096 && packet >= 128 && packet <= 4096 && parity > 0 && packetParity > 0 && groups > 0 && packetGroups > 0
            && Bytes.i64(head, 16) == begin && begin % shard == 0 && end == begin + length && total >= end + 128 && total <= end + (1 << 20) && total <= archive.size, what + ": its first packet");
        long data = begin / shard + (total - end + shard - 1) / shard, shards = Bytes.times(groups, parity);
        long payload = packet - 64L, packets = (32 + 4 * (data + Math.min(shards, 1L << 40)) - 1) / payload + 1;
        need(packetGroups <= packets && shards <= length / shard, what + ": numbers of groups");
        long all = packets + packetGroups * packetParity;
        need(length == shards * shard + all * packet && all >= 2, what + ": " + length + " bytes are not those of its packets and shards");
        byte[] catalogue = Memory.bytes(packets * payload), buffer = new byte[Math.max(shard, packet)];
        int[] sums = Memory.ints(shards);
        long at = begin, done = 0;
        for (long j = 0; j < all; j++) {
            for (long before = j * shards / (all - 1); done < before; done++, at += shard) {
                archive.source.read(at, buffer, 0, shard);
                sums[(int) done] = Bytes.crc(buffer, 0, shard);
            }
            archive.source.read(at, buffer, 0, packet);
            boolean same = Bytes.i32(buffer, 44) == (int) j;
            for (int k = 0; k < 64; k++) same &= k >= 4 && k < 8 || k >= 44 && k < 48 || buffer[k] == head[k];
            need(same && Bytes.i32(buffer, 4) == Bytes.saltedCrc(archive.salt, at, buffer, 8, packet - 8), what + ": packet " + j + " at " + at);
            if (j < packets) System.arraycopy(buffer, 64, catalogue, (int) (j * payload), (int) payload);
            at += packet;
        }
        need(at == begin + length, what + ": its end");
        MessageDigest sha = Dataset.sha256();
        for (long i = 0, from = 0; i < data; i++) {
            int n = (int) Math.min(shard, total - from);
            archive.source.read(from, buffer, 0, n);
            for (long k = Math.max(from, 112); k < Math.min(from + n, 160); k++) buffer[(int) (k - from)] = 0;
            sha.update(buffer, 0, n);
            Arrays.fill(buffer, n, shard, (byte) 0);
            need(Bytes.crc(buffer, 0, shard) == Bytes.i32(catalogue, (int) (32 + 4 * i)), what + ": the shard at " + from + " is damaged");
            from += n;
            from = from == begin ? end : from;
        }
        need(Arrays.equals(sha.digest(), Arrays.copyOf(catalogue, 32)), what + ": SHA-256 of what it covers");
        for (int i = 0; i < shards; i++) need(sums[i] == Bytes.i32(catalogue, (int) (32 + 4 * (data + i))), what + ": parity shard " + i + " is damaged");
        need(Bytes.zeros(catalogue, (int) (32 + 4 * (data + shards)), catalogue.length), what + ": bytes behind the catalogue are not zero");
        if (notes != null) notes.add("parity of " + shards + " shards covers " + data + " shards of " + shard + " bytes");
    }
}
