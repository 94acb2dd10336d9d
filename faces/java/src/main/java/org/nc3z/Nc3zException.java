package org.nc3z;

import java.io.IOException;

/** What keeps an archive, or a part of it, from being read. */
public final class Nc3zException extends IOException {
    private static final long serialVersionUID = 1;

    /** Why: callers act on these. */
    public enum Kind {
        /** The bytes break a rule of the format. */
        CORRUPT,
        /** The archive may be sound, but this reader does not know a part of it. */
        UNSUPPORTED,
        /** More than this Java machine, or a limit of readers, allows. */
        LIMIT,
        /** The caller asked for what is not there. */
        ARGUMENT
    }

    private final Kind kind;

    Nc3zException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    /** The family of the error. */
    public Kind kind() { return kind; }

    static Nc3zException corrupt(String message) { return new Nc3zException(Kind.CORRUPT, message); }

    static Nc3zException unsupported(String message) { return new Nc3zException(Kind.UNSUPPORTED, message); }

    static Nc3zException limit(String message) { return new Nc3zException(Kind.LIMIT, message); }

    static Nc3zException argument(String message) { return new Nc3zException(Kind.ARGUMENT, message); }

    static void need(boolean truth, String what) throws Nc3zException {
        if (!truth) throw corrupt(what);
    }
}
