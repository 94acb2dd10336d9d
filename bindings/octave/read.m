# Prints a variable's numbers, a line for each row: octave-cli read.m tas.nc.nc3z VARIABLE
args = argv();
values = nc3z_read(args{1}, args{2});
rows = reshape(values, size(values, 1), []);
lines = cell(1, columns(rows));
for i = 1:columns(rows)
  lines{i} = strjoin(arrayfun(@(x) num2str(x, 7), rows(:, i)', "UniformOutput", false), ", ");
endfor
printf("\n %s =\n  %s ;\n", args{2}, strjoin(lines, ",\n  "));
