#!/bin/sh
# The Java reader as testdata/conformance/nc3z-conformance calls a decoder. NC3Z_JAR names its jar.
jar=${NC3Z_JAR:-$(ls "$(dirname "$0")"/../../faces/java/target/nc3z-java-*.jar | head -n 1)}
java() { exec env java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar "$jar" "$@"; }
case "$1" in
    restore) java restore "$2" -o - ;;
    read) java read "$2" "$3" --raw ;;
    member) java restore "$2" -m "$3" -o - ;;
    verify) java verify "$2" ;;
    *) exit 64 ;;
esac
