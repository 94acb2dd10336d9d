package org.nc3z;

import java.util.*;

/** What was decoded last, up to a number of bytes; the newest stays whatever its size. */
final class Cache<K, V> {
    private final LinkedHashMap<K, Item<V>> items = new LinkedHashMap<>(64, 0.75f, true);
    private final long most;
    private long used;

    private static final class Item<V> {
        final V value;
        final long weight;

        Item(V value, long weight) {
            this.value = value;
            this.weight = weight;
        }
    }

    Cache(long most) {
        this.most = most;
    }

    synchronized V get(K key) {
        Item<V> item = items.get(key);
        return item == null ? null : item.value;
    }

    synchronized void put(K key, V value, long weight) {
        Item<V> before = items.put(key, new Item<>(value, weight));
        used += weight - (before == null ? 0 : before.weight);
        Iterator<Map.Entry<K, Item<V>>> eldest = items.entrySet().iterator();
        while (used > most && items.size() > 1) {
            used -= eldest.next().getValue().weight;
            eldest.remove();
        }
    }

    synchronized void clear() {
        items.clear();
        used = 0;
    }
}
