/* Inside the library: reading and writing of text (tables, pairs, Base64, XML, numbers, names), and
 * a checksum. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

CVTM_C_BEGIN

/* --- CSV tables of numbers -------------------------------------------------------------------- */

/* The rest of a line after its first fields were taken, without comment and outer blanks. Fields
 * are separated by blanks and commas or, in a line that has semicolons, by blanks and semicolons;
 * so a decimal comma in such a line is an error and does not separate two fields. Quotes have no
 * meaning. */
typedef struct cvtm_csv_line {
  const char *at, *end; /* equal where no field is left */
  char separator;       /* , or ; */
  int has_comment;      /* text from # to the end of the line was cut off */
} cvtm_csv_line;

typedef struct cvtm_csv_field {
  const char *text; /* not terminated */
  size_t length;    /* 0 between two separators */
} cvtm_csv_field;

/* The size of a UTF-8 byte order mark at the start of the data: 3 or 0. */
size_t cvtm_csv_byte_order_mark(const void *data, size_t size);
/* Returns the line that begins at data[*at], *at < size, and moves *at to the next line. */
cvtm_csv_line cvtm_csv_take_line(const void *data, size_t size, size_t *at);
/* Takes the next field; returns 0 if there is none. */
int cvtm_csv_next_field(cvtm_csv_line *line, cvtm_csv_field *field);

/* --- lines `name = value` --------------------------------------------------------------------- */

/* Text with lines `name = value`, and the line that was taken last. Taking a line overwrites the
 * text. */
typedef struct cvtm_pairs {
  char *next;       /* the rest of the text; NULL: no line is left */
  const char *file; /* for messages */
  cvtm_error *error;
  int line;
  char *name, *value; /* without outer blanks; value is NULL if the line has no = */
} cvtm_pairs;

/* Removes blanks at both ends, in place. */
char *cvtm_trim(char *text);
/* Takes the next line that is neither empty nor a comment (#...); returns 0 if there is none. */
int cvtm_pairs_take(cvtm_pairs *pairs);
/* Fails with CVTM_ERROR_INPUT; the message has file, line and reason. */
cvtm_status cvtm_pairs_fail(const cvtm_pairs *pairs, const char *reason);

/* --- Base64 (RFC 4648) ------------------------------------------------------------------------ */

/* Writes four digits for each group of at most three bytes; returns the end of the digits. */
char *cvtm_base64_encode(char *to, const unsigned char *bytes, size_t size);

/* Writes `size` bytes with padding and without line breaks; ferror(stream) shows a failure. */
void cvtm_base64_write(FILE *stream, const unsigned char *bytes, size_t size);

/* --- XML and HTML ----------------------------------------------------------------------------- */

static inline void cvtm_put_xml_text(FILE *file, const char *text) {
  for (; *text != '\0'; ++text) {
    if (strchr("<>&\"", *text) != NULL)
      fprintf(file, "&#%d;", *text);
    else
      fputc(*text, file);
  }
}

/* True if `word` is one of `words`, which are separated by blanks; false if `words` is NULL. */
static inline int cvtm_text_has_word(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (; words != NULL && *words != '\0'; words += strcspn(words, " "), words += *words == ' ')
    if (strcspn(words, " ") == length && strncmp(words, word, length) == 0) return 1;
  return 0;
}

/* --- numbers in any locale -------------------------------------------------------------------- */

/* strtod as in the C locale. */
double cvtm_strtod(const char *text, char **end);

/* The locale that the calling thread had before. */
typedef void *cvtm_numeric_locale;

/* Between enter and leave the calling thread prints numbers as in the C locale; a thread need not
 * leave. Other threads, also those of OpenMP, need their own calls. */
cvtm_numeric_locale cvtm_numeric_locale_enter(void);
void cvtm_numeric_locale_leave(cvtm_numeric_locale previous);

/* --- names of options in messages ------------------------------------------------------------- */

/* How messages of the calling thread name options. In the format of a message an option is --NAME,
 * or --%s with the name as an argument. Dashes in other arguments are not changed. */
typedef enum cvtm_option_style {
  CVTM_OPTION_DASHES,  /* --mass-tolerance */
  CVTM_OPTION_KEYWORDS /* mass_tolerance */
} cvtm_option_style;

/* Sets the style of the calling thread; returns the previous style. */
cvtm_option_style cvtm_option_style_use(cvtm_option_style style);
/* As cvtm_fail, with the arguments in a va_list. */
CVTM_PRINTF(3, 0)
void cvtm_fail_list(cvtm_error *error, cvtm_status status, const char *format, va_list arguments);

/* --- names of an enumeration ------------------------------------------------------------------ */

#define CVTM_NAME_IN_LIST(code, name) name,

/* Defines const char *function(type value): the name of a value of the enumeration of LIST. */
#define CVTM_DEFINE_NAMES(function, type, LIST)                   \
  const char *function(type value) {                              \
    static const char *const names[] = {LIST(CVTM_NAME_IN_LIST)}; \
    return names[value];                                          \
  }

/* --- checksums -------------------------------------------------------------------------------- */

/* A checksum: each 64-bit word (the last word padded with zeros) is mixed with its position by the
 * finaliser of splitmix64 (Steele, Lea & Flood 2014); the results and the number of bytes are
 * added. Machines with the same byte order give the same sum. */
uint64_t cvtm_checksum(const void *bytes, size_t count);

CVTM_C_END
