
# Names of variables (v) or dimensions (d) of the first file on the line that is there.
_nc3z_names() {
    local word file=
    for word in "${(@)words[3,-1]}"; do
        # A word may be quoted as it was typed.
        word=${(Q)word}
        if [[ -f $word ]]; then file=$word; break; fi
    done
    [[ -n $file ]] || return 1
    names=("${(@f)$("${(Q)words[1]}" dump -h "$file" 2>/dev/null | awk -v wanted="$1" '
NAMES_AWK')}")
    [[ -n ${names[1]} ]]
}

_nc3z() {
    local -a names options
    case ${words[CURRENT - 1]} in
        -v | --variable | --variables)
            # In a list, the name behind the last comma.
            compset -P '*,' && options=(-S '')
            _nc3z_names v
            ;;
        -d | --dim | --dimension) _nc3z_names d ;;
        *)
            case ${words[2]} in
                # The word behind the file is a variable.
                read | plot | set) (( CURRENT == 4 )) && [[ $PREFIX != -* ]] && _nc3z_names v ;;
                # VARIABLE:ATTRIBUTE=VALUE.
                attr) (( CURRENT >= 4 )) && [[ $PREFIX != -* && $PREFIX != *:* ]] && options=(-S ':') && _nc3z_names v ;;
                *) false ;;
            esac
            ;;
    esac && compadd $options -a names && return 0
    _nc3z_all "$@"
}
