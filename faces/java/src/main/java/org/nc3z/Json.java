package org.nc3z;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.*;

/**
 * JSON as archives hold it: objects are maps, arrays lists, strings Strings, integers Longs (or BigDecimals beyond 64 bits), other numbers
 * Doubles. A key that occurs twice, a number beyond binary64, more levels or values than allowed are errors.
 */
final class Json {
    private final String text, what;
    private final int deepest;
    private long values;
    private int at;

    private Json(byte[] data, String what, int deepest, long values) throws Nc3zException {
        this.what = what;
        this.deepest = deepest;
        this.values = values;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
        } catch (CharacterCodingException e) {
            throw Nc3zException.corrupt(what + ": not UTF-8");
        }
    }

    static Object parse(byte[] data, String what, int deepest, long values) throws Nc3zException {
        Json json = new Json(data, what, deepest, values);
        Object out = json.value(1);
        json.blanks();
        if (json.at != json.text.length()) throw json.bad("characters behind the end");
        return out;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) { return value instanceof Map ? (Map<String, Object>) value : null; }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) { return value instanceof List ? (List<Object>) value : null; }

    /** The integer of a key between two bounds, or null. */
    static Long integer(Map<String, Object> object, String key, long low, long high) {
        Object value = object.get(key);
        return value instanceof Long && (Long) value >= low && (Long) value <= high ? (Long) value : null;
    }

    /** Canonical text, for messages. */
    static String text(Object value) {
        if (value instanceof Map) {
            StringBuilder out = new StringBuilder("{");
            for (Map.Entry<String, Object> e : object(value).entrySet()) {
                out.append(out.length() > 1 ? "," : "").append(text(e.getKey())).append(':').append(text(e.getValue()));
            }
            return out.append('}').toString();
        }
        if (value instanceof List) {
            StringBuilder out = new StringBuilder("[");
            for (Object e : list(value)) out.append(out.length() > 1 ? "," : "").append(text(e));
            return out.append(']').toString();
        }
        if (value instanceof String) {
            StringBuilder out = new StringBuilder("\"");
            for (char c : ((String) value).toCharArray()) {
                if (c == '"' || c == '\\') {
                    out.append('\\').append(c);
                } else if (c < 32 || c > 126) {
                    out.append(String.format("\\u%04x", (int) c));
                } else {
                    out.append(c);
                }
            }
            return out.append('"').toString();
        }
        return String.valueOf(value);
    }

    private Nc3zException bad(String why) { return Nc3zException.corrupt(what + ": JSON, character " + at + ": " + why); }

    private void blanks() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) at++;
    }

    private boolean next(char c) {
        blanks();
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private Object value(int level) throws Nc3zException {
        if (--values < 0) throw bad("too many values");
        if (next('{')) {
            Map<String, Object> out = new LinkedHashMap<>();
            if (level > deepest) throw bad("more than " + deepest + " levels");
            if (next('}')) return out;
            do {
                blanks();
                String key = string();
                if (!next(':')) throw bad("`:` expected");
                if (out.containsKey(key)) throw bad("the key " + text(key) + " occurs twice");
                out.put(key, value(level + 1));
            } while (next(','));
            if (!next('}')) throw bad("`}` expected");
            return out;
        }
        if (next('[')) {
            List<Object> out = new ArrayList<>();
            if (level > deepest) throw bad("more than " + deepest + " levels");
            if (next(']')) return out;
            do {
                out.add(value(level + 1));
            } while (next(','));
            if (!next(']')) throw bad("`]` expected");
            return out;
        }
        if (at < text.length() && text.charAt(at) == '"') return string();
        for (String word : new String[] {"true", "false", "null"}) {
            if (text.startsWith(word, at)) {
                at += word.length();
                return word.equals("null") ? null : (Object) word.equals("true");
            }
        }
        return number();
    }

    private Object number() throws Nc3zException {
        int from = at;
        boolean whole = true;
        if (at < text.length() && text.charAt(at) == '-') at++;
        int digits = at;
        digits();
        if (at - digits > 1 && text.charAt(digits) == '0') throw bad("a number that begins with 0");
        if (at < text.length() && text.charAt(at) == '.') {
            at++;
            whole = false;
            digits();
        }
        if (at < text.length() && (text.charAt(at) | 32) == 'e') {
            at++;
            whole = false;
            if (at < text.length() && (text.charAt(at) == '+' || text.charAt(at) == '-')) at++;
            digits();
        }
        String number = text.substring(from, at);
        double value = Double.parseDouble(number);
        if (Double.isInfinite(value)) throw bad("a number beyond binary64");
        if (!whole || number.equals("-0")) return value;
        if (number.length() < 19) return Long.parseLong(number);
        BigDecimal big = new BigDecimal(number);
        return big.precision() < 19 ? (Object) big.longValueExact() : big;
    }

    private void digits() throws Nc3zException {
        int from = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
        if (at == from) throw bad("a value expected");
    }

    private String string() throws Nc3zException {
        if (at >= text.length() || text.charAt(at) != '"') throw bad("a string expected");
        StringBuilder out = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '"') {
                at++;
                return whole(out.toString());
            }
            if (c < 32) throw bad("a control character in a string");
            if (c != '\\') {
                out.append(c);
                continue;
            }
            if (++at >= text.length()) break;
            int simple = "\"\\/bfnrt".indexOf(text.charAt(at));
            if (simple >= 0) {
                out.append("\"\\/\b\f\n\r\t".charAt(simple));
            } else if (text.charAt(at) == 'u' && at + 4 < text.length() && text.substring(at + 1, at + 5).matches("[0-9a-fA-F]{4}")) {
                out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                at += 4;
            } else {
                throw bad("an unknown escape");
            }
        }
        throw bad("a string without end");
    }

    /** Halves of surrogate pairs are not characters. */
    private String whole(String s) throws Nc3zException {
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(s)) throw bad("half of a surrogate pair");
        return s;
    }
}
