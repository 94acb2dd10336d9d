# Prints a variable's numbers, a line for each row: Rscript read.R ./nc3z.so tas.nc.nc3z VARIABLE
args <- commandArgs(trailingOnly = TRUE)
dyn.load(args[1])
values <- .Call("nc3z_r_read", args[2], args[3])
rows <- if (is.null(dim(values))) matrix(values, 1) else matrix(values, dim(values)[1])
words <- function(x) ifelse(x == trunc(x), sprintf("%.0f", x), sprintf("%.7g", x))
lines <- apply(rows, 2, function(row) paste(words(row), collapse = ", "))
cat("\n ", args[3], " =\n  ", paste(lines, collapse = ",\n  "), " ;\n", sep = "")
