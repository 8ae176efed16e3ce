# A row of the option table, for test_options.py. Its field is one that `info` does not use.
/^const cli_option_row cli_option_rows/a\
  {"fake-count", 'F', INFO | RUN, INTEGER(batch.jobs, "COUNT", 0, 99), CHIEF(BASIC), "number of fakes to count",\
   .manual = "A `fake` is counted once. See --json.", .words = "three"},

# The name of the row in format_fake.c, for test_format_rows.py.
s/X(obj)/X(fake) X(obj)/
