#define _XOPEN_SOURCE 700

#include "base/numeric_locale.h"

#include <locale.h>
#include <stddef.h>

cvtm_numeric_locale cvtm_numeric_locale_enter(void) {
  cvtm_numeric_locale locale = {NULL, NULL};
  locale_t own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (own != (locale_t)0) {
    locale.own = (void *)own;
    locale.previous = (void *)uselocale(own);
  }
  return locale;
}

void cvtm_numeric_locale_leave(cvtm_numeric_locale locale) {
  if (locale.own == NULL) return;
  uselocale((locale_t)locale.previous);
  freelocale((locale_t)locale.own);
}
