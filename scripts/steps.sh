# Sourced by scripts/test.sh and scripts/nightly.sh: runs named steps, continues after a failure, and ends with times and a count.
passed=0 failed=0 not_run=() figures=()
# Seconds between two signs of life of a step.
SIGN_OF_LIFE=${SIGN_OF_LIFE:-50}

# still_running NAME BEGIN: says so again and again, until it is killed.
still_running() {
    # The last sleep outlives it, and must not keep the output open.
    while sleep "$SIGN_OF_LIFE" >/dev/null 2>&1 </dev/null; do
        printf '   %s, still running, %s s\n' "$1" $((SECONDS - $2))
    done
}

# step NAME COMMAND...: a command that ends with 77 has said why it could not run, and counts as skipped.
step() {
    local name=$1 begin=$SECONDS verdict
    shift
    printf '\n== %s\n' "$name"
    still_running "$name" "$begin" &
    local ticker=$! code
    "$@"
    code=$?
    kill "$ticker" 2>/dev/null
    wait "$ticker" 2>/dev/null
    case $code in
        0) verdict=passed passed=$((passed + 1)) ;;
        77) verdict=SKIPPED; not_run+=("$name") ;;
        *) verdict=FAILED failed=$((failed + 1)) ;;
    esac
    figures+=("$(printf '%5s s  %-8s %s' $((SECONDS - begin)) "$verdict" "$name")")
    printf '== %s: %s, %s s\n' "$name" "$verdict" $((SECONDS - begin))
}

# begin_beside COMMAND...: begins a command that runs beside the steps that follow, until a step is `end_beside`, whose time is what it still waits.
begin_beside() {
    beside_log=$(mktemp)
    "$@" >"$beside_log" 2>&1 &
    beside=$!
}

# Prints the output of the command and its result.
end_beside() {
    local code=0
    wait "$beside" || code=$?
    cat "$beside_log"
    rm -f "$beside_log"
    return "$code"
}

# not_run_because REASON: a step that cannot run.
not_run_because() {
    echo "NOT RUN: $1"
    return 77
}

# Times, what did not run, and the count; fails where a step failed, or none ran.
close() {
    printf '\nTimes, %s s in all:\n' "$SECONDS"
    printf '%s\n' "${figures[@]}"
    [ ${#not_run[@]} = 0 ] || printf '\nNot run:%s\n' "$(printf ' %s;' "${not_run[@]}" | sed 's/;$//')"
    printf '\n%s passed, %s failed, %s skipped\n' "$passed" "$failed" "${#not_run[@]}"
    [ "$failed" = 0 ] && [ "$passed" != 0 ]
}
