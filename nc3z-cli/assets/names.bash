
# Names of variables (v) or dimensions (d) of the first file on the line that is there.
_nc3z_names() {
    local word file=
    for word in "${COMP_WORDS[@]:2}"; do
        # A word may be quoted as it was typed.
        word=${word//\\/}
        if [[ -f $word ]]; then file=$word; break; fi
    done
    [[ -n $file ]] || return 1
    "${COMP_WORDS[0]}" dump -h "$file" 2>/dev/null | awk -v wanted="$1" '
NAMES_AWK'
}

_nc3z_with_names() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} names= before= behind=
    case $prev in
        -v | --variable | --variables)
            names=$(_nc3z_names v)
            # In a list, the name behind the last comma.
            [[ $cur == *,* ]] && before=${cur%,*},
            ;;
        -d | --dim | --dimension) names=$(_nc3z_names d) ;;
        *)
            case $command in
                # The word behind the file is a variable.
                read | plot | set) [[ $COMP_CWORD -eq 3 && $cur != -* ]] && names=$(_nc3z_names v) ;;
                # VARIABLE:ATTRIBUTE=VALUE.
                attr) [[ $COMP_CWORD -ge 3 && $cur != *[-:]* ]] && names=$(_nc3z_names v) behind=: ;;
            esac
            ;;
    esac
    if [[ -n $names ]]; then
        local IFS=$'\n'
        COMPREPLY=($(compgen -P "$before" -S "$behind" -W "$names" -- "${cur#"$before"}"))
        [[ -z $before$behind ]] || compopt -o nospace 2>/dev/null
        [[ ${#COMPREPLY[@]} -eq 0 ]] || return 0
    fi
    _nc3z "$@"
}
complete -F _nc3z_with_names -o bashdefault -o default nc3z
