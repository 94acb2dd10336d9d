
# Names of variables (v) or dimensions (d) of the first file on the line that is there.
function __nc3z_names --argument-names wanted
    set -l words (commandline -opc)
    set -l file
    for word in $words[3..-1]
        if test -f "$word"
            set file $word
            break
        end
    end
    test -n "$file"; or return 1
    $words[1] dump -h "$file" 2>/dev/null | awk -v wanted=$wanted '
NAMES_AWK'
end

# Whether the next word is the one behind the file, and that is a variable.
function __nc3z_is_variable
    set -l words (commandline -opc)
    test (count $words) -eq 3; and contains -- $words[2] read plot set
end
complete -c nc3z -n __nc3z_is_variable -f -a "(__nc3z_names v)"

# Names in a list: behind the last comma of the word.
function __nc3z_names_in_list
    set -l before (string match -r '^.*,' -- (commandline -ct))
    for name in (__nc3z_names v)
        string join '' -- $before $name
    end
end

# Whether the next word is VARIABLE:ATTRIBUTE=VALUE.
function __nc3z_is_attribute
    set -l words (commandline -opc)
    test (count $words) -ge 3; and test $words[2] = attr
end
complete -c nc3z -n __nc3z_is_attribute -f -a "(__nc3z_names v | string replace -r '\$' ':')"
