/* Test helper: a locale whose numbers have a decimal comma. It is made for the test, from the
 * sources of Debian's package `locales`. */
#pragma once

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* Sets it for the process. */
static inline void use_decimal_comma(void) {
  char folder[] = "/tmp/cvtmesh-test-XXXXXX", command[256], text[8];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8", folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(setenv("LOCPATH", folder, 1), 0);
  assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  snprintf(text, sizeof text, "%.1f", 1.5);
  assert_string_equal(text, "1,5");
}
