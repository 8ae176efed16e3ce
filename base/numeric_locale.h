/* Inside the library: numbers in text have a decimal point whatever the caller's locale. */
#ifndef CVTMESH_BASE_NUMERIC_LOCALE_H
#define CVTMESH_BASE_NUMERIC_LOCALE_H

/* As strtod in the C locale. */
double cvtm_strtod(const char *text, char **end);

/* What the calling thread had before. */
typedef void *cvtm_numeric_locale;

/* Between enter and leave the calling thread prints numbers as in the C locale; so does a thread
 * that never leaves. Other threads, those of OpenMP too, need their own. Where there is no memory
 * for that, nothing changes. */
cvtm_numeric_locale cvtm_numeric_locale_enter(void);
void cvtm_numeric_locale_leave(cvtm_numeric_locale previous);

#endif
