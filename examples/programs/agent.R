# A climb on nb201-cifar10 in R, without packages: it reads a line of JSON, and answers it with one.
operations <- c("none", "skip_connect", "avg_pool_3x3", "nor_conv_1x1", "nor_conv_3x3")
best <- list(cell = NULL, value = Inf)
cell <- NULL
input <- file("stdin", "r")
number <- function(line, name) {
  found <- regmatches(line, regexec(paste0('"', name, '": (-?[0-9.e+-]+)'), line))[[1]]
  if (length(found)) as.numeric(found[2]) else Inf
}
while (length(line <- readLines(input, 1))) {
  answer <- "{}"
  if (startsWith(line, '{"hello"')) set.seed(number(line, "seed"))
  if (startsWith(line, '{"ask"')) {
    cell <- if (is.null(best$cell)) sample(operations, 6, replace = TRUE) else best$cell
    cell[sample(6, 1)] <- sample(operations, 1)
    answer <- sprintf('{"configuration": {%s}}', paste0('"Op', 0:5, '": "', cell, '"', collapse = ", "))
  }
  if (startsWith(line, '{"tell"') && grepl('"feasible": true', line, fixed = TRUE)) {
    told <- regmatches(line, gregexpr('"Op[0-5]": "[^"]*"', line))[[1]]
    value <- number(line, "value")
    if (value < best$value) best <- list(cell = sub('.*: "(.*)"', "\\1", told), value = value)
  }
  cat(answer, "\n", sep = "")
  flush(stdout())
}
