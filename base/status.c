#define CVTM_STATUS_SOURCE
#include "base/status.h"

#include "base/text.h"
#include "base/version.h"

#include <stdarg.h>
#include <stdio.h>

const char *cvtm_status_text(cvtm_status status) {
  static const char *const texts[] = {
#define CVTM_STATUS_TEXT(code, text) text,
      CVTM_STATUS_LIST(CVTM_STATUS_TEXT)
#undef CVTM_STATUS_TEXT
  };
  const int count = (int)(sizeof texts / sizeof texts[0]);
  return (int)status >= 0 && (int)status < count ? texts[status] : "unknown status";
}

cvtm_status cvtm_fail(cvtm_error *error, cvtm_status status, const char *format, ...) {
  if (error) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
    vsnprintf(error->message, sizeof error->message, format, arguments);
    cvtm_numeric_locale_leave(locale);
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
