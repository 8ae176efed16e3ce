/* Inside the library: numbers in text have a decimal point whatever the caller's locale. */
#ifndef CVTMESH_BASE_NUMERIC_LOCALE_H
#define CVTMESH_BASE_NUMERIC_LOCALE_H

typedef struct cvtm_numeric_locale {
  void *own, *previous;
} cvtm_numeric_locale;

/* Between enter and leave the calling thread reads and prints numbers as in the C locale. Where
 * there is no memory for that, nothing changes. */
cvtm_numeric_locale cvtm_numeric_locale_enter(void);
void cvtm_numeric_locale_leave(cvtm_numeric_locale locale);

#endif
