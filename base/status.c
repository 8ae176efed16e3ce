#define CVTM_STATUS_SOURCE
#include "base/status.h"

#include "base/text.h"
#include "base/version.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cvtm_status_text(cvtm_status status) {
  static const char *const texts[] = {
#define CVTM_STATUS_TEXT(code, text) text,
      CVTM_STATUS_LIST(CVTM_STATUS_TEXT)
#undef CVTM_STATUS_TEXT
  };
  const int count = (int)(sizeof texts / sizeof texts[0]);
  return (int)status >= 0 && (int)status < count ? texts[status] : "unknown status";
}

static _Thread_local cvtm_option_style style; /* CVTM_OPTION_DASHES at first */

cvtm_option_style cvtm_option_style_use(cvtm_option_style wanted) {
  const cvtm_option_style before = style;
  style = wanted;
  return before;
}

/* mark_options copies `format` to `marked`, with this character in place of the dashes before the
 * name of an option (a letter or %s follows them). The marks show where the names are once the
 * arguments, which may have dashes, are inserted. */
enum { MARK = '\x01' };

static void mark_options(const char *format, char *marked, size_t size) {
  size_t used = 0;
  for (const char *c = format; *c != '\0' && used + 1 < size; ++c) {
    const int begins = c == format || strchr(" ('", c[-1]) != NULL;
    const int is_name =
        begins && c[0] == '-' && c[1] == '-' && (isalpha((unsigned char)c[2]) || c[2] == '%');
    marked[used++] = is_name ? (char)MARK : *c;
    c += is_name;
  }
  marked[used] = '\0';
}

/* Turns marked names into keywords, words of letters, digits and _. */
static void spell_keywords(char *message) {
  char *to = message;
  for (const char *from = message; *from != '\0'; ++from) {
    if (*from != MARK) {
      *to++ = *from;
      continue;
    }
    for (; isalnum((unsigned char)from[1]) || from[1] == '-'; ++from)
      *to++ = from[1] == '-' ? '_' : from[1];
  }
  *to = '\0';
}

void cvtm_fail_list(cvtm_error *error, cvtm_status status, const char *format, va_list arguments) {
  char marked[1024];
  const int keywords = style == CVTM_OPTION_KEYWORDS && strlen(format) < sizeof marked;
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  error->status = status;
  if (keywords) mark_options(format, marked, sizeof marked);
  vsnprintf(error->message, sizeof error->message, keywords ? marked : format, arguments);
  if (keywords) spell_keywords(error->message);
  cvtm_numeric_locale_leave(locale);
}

cvtm_status cvtm_fail(cvtm_error *error, cvtm_status status, const char *format, ...) {
  if (error) {
    va_list arguments;
    va_start(arguments, format);
    cvtm_fail_list(error, status, format, arguments);
    va_end(arguments);
  }
  return status;
}

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *cvtmesh_version(void) {
  return TEXT(CVTMESH_VERSION_MAJOR) "." TEXT(CVTMESH_VERSION_MINOR) "." TEXT(
      CVTMESH_VERSION_PATCH);
}

int cvtmesh_version_number(void) { return CVTMESH_VERSION_NUMBER; }
