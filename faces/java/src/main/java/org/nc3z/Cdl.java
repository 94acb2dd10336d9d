package org.nc3z;

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.List;

/** A header as CDL, and values as text. */
final class Cdl {
    private Cdl() {}

    static void print(Header header, String name, PrintStream out) {
        out.println("netcdf " + (name.contains(".") ? name.substring(0, name.indexOf('.')) : name) + " {");
        if (!header.dimensions.isEmpty()) out.println("dimensions:");
        for (Header.Dimension d : header.dimensions) {
            out.println("\t" + word(d.name()) + " = " + (d.isRecord() ? "UNLIMITED ; // (" + Long.toUnsignedString(d.length()) + " currently)" : Long.toUnsignedString(d.length()) + " ;"));
        }
        if (!header.variables.isEmpty()) out.println("variables:");
        for (Header.Variable v : header.variables) {
            StringBuilder dims = new StringBuilder();
            for (int d : v.dims) dims.append(dims.length() == 0 ? "(" : ", ").append(word(header.dimensions.get(d).name()));
            out.println("\t" + v.type.cdl() + " " + word(v.name()) + (dims.length() == 0 ? "" : dims + ")") + " ;");
            attributes(v.attributes, word(v.name()), out);
        }
        if (!header.attributes.isEmpty()) out.println("\n// global attributes:");
        attributes(header.attributes, "", out);
        out.println("}");
    }

    private static void attributes(List<Header.Attribute> attributes, String of, PrintStream out) {
        for (Header.Attribute a : attributes) {
            StringBuilder text = new StringBuilder();
            if (a.type == DataType.CHAR) text.append('"').append(quoted(a.text())).append('"');
            for (int i = 0; i < a.count() && a.type != DataType.CHAR; i++) {
                text.append(i == 0 ? "" : ", ").append(value(a.type, a.values, i * a.type.size())).append(suffix(a.type));
            }
            out.println("\t\t" + of + ":" + word(a.name()) + " = " + text + " ;");
        }
    }

    private static String suffix(DataType type) {
        switch (type) {
            case BYTE: return "b";
            case SHORT: return "s";
            case FLOAT: return "f";
            case UBYTE: return "UB";
            case USHORT: return "US";
            case UINT: return "U";
            case INT64: return "LL";
            case UINT64: return "ULL";
            default: return "";
        }
    }

    /** One value as text: the shortest digits that give it back. */
    static String value(DataType type, byte[] d, int at) {
        ByteBuffer in = ByteBuffer.wrap(d);
        switch (type) {
            case BYTE: return String.valueOf(d[at]);
            case CHAR:
            case UBYTE: return String.valueOf(d[at] & 255);
            case SHORT: return String.valueOf(in.getShort(at));
            case USHORT: return String.valueOf(in.getShort(at) & 0xFFFF);
            case INT: return String.valueOf(in.getInt(at));
            case UINT: return Integer.toUnsignedString(in.getInt(at));
            case FLOAT: return String.valueOf(in.getFloat(at));
            case DOUBLE: return String.valueOf(in.getDouble(at));
            case INT64: return String.valueOf(in.getLong(at));
            default: return Long.toUnsignedString(in.getLong(at));
        }
    }

    /** Text in which control characters, quotes and backslashes are written as CDL does. */
    static String quoted(String text) {
        StringBuilder out = new StringBuilder();
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c == '\n') {
                out.append("\\n");
            } else if (c == '\t') {
                out.append("\\t");
            } else if (c < 32 || c >= 127 && c < 160 || c >= 0x200B && c <= 0x200F || c >= 0x202A && c <= 0x202E || c >= 0x2066 && c <= 0x2069) {
                out.append(String.format(c < 256 ? "\\x%02x" : "\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }

    private static String word(String name) { return quoted(name).replace(" ", "\\ "); }
}
