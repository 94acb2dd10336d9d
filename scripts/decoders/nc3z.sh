#!/bin/sh
# The program as testdata/conformance/nc3z-conformance calls a decoder. NC3Z names it.
nc3z=${NC3Z:-nc3z}
case "$1" in
    restore) exec "$nc3z" restore "$2" -o - ;;
    read) exec "$nc3z" read "$2" "$3" --format raw ;;
    member) exec "$nc3z" restore "$2!/$3" -o - ;;
    verify) exec "$nc3z" verify --deep "$2" ;;
    *) exit 64 ;;
esac
