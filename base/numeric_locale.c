#include "base/numeric_locale.h"

#include <locale.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The C locale, made at the first use and kept. C libraries have it ready and allocate nothing. */
static locale_t c_locale(void) {
  static _Atomic(locale_t) made;
  locale_t known = atomic_load_explicit(&made, memory_order_acquire);
  if (known == (locale_t)0) {
    known = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    atomic_store_explicit(&made, known, memory_order_release);
  }
  return known;
}

cvtm_numeric_locale cvtm_numeric_locale_enter(void) {
  const locale_t c = c_locale();
  return c != (locale_t)0 ? (void *)uselocale(c) : NULL;
}

void cvtm_numeric_locale_leave(cvtm_numeric_locale previous) {
  if (previous != NULL) uselocale((locale_t)previous);
}

double cvtm_strtod(const char *text, char **end) {
  const locale_t c = c_locale();
  return c != (locale_t)0 ? strtod_l(text, end, c) : strtod(text, end);
}
