    /^dimensions:/ { part = "d"; next }
    /^variables:/ { part = "v"; next }
    /^$/ { exit }
    part != wanted || !/^\t[^\t]/ { next }
    part == "d" { sub(/^\t/, ""); sub(/ = .*$/, ""); print }
    part == "v" { sub(/^\t[^ ]* /, ""); sub(/(\(.*)? ;$/, ""); print }
