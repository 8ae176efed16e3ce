/* CSV tables of numbers. */
#ifndef CVTMESH_BASE_CSV_H
#define CVTMESH_BASE_CSV_H

#include <stddef.h>

/* The fields of a line that have not been taken, without comment and outer blanks. Fields are
 * separated by commas or blanks, in a line that has semicolons by these, so that a decimal comma is
 * an error and not two fields. Quotes have no meaning. */
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
/* The line that begins at data[*at], *at < size; moves *at to the start of the next line. */
cvtm_csv_line cvtm_csv_take_line(const void *data, size_t size, size_t *at);
/* Takes the next field; returns 0 if there is none. */
int cvtm_csv_next_field(cvtm_csv_line *line, cvtm_csv_field *field);

#endif
