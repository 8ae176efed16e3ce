/* Inside meshes only: numbers as text in memory, and files written item by item in parallel. */
#ifndef CVTMESH_MESHES_FORMATS_TEXT_H
#define CVTMESH_MESHES_FORMATS_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Room that one number takes at most. */
enum { CVTM_TEXT_INTEGER = 20, CVTM_TEXT_NUMBER = 32, CVTM_TEXT_FIXED = 340 };

/* Each of these writes at `to`, without a terminating zero, and returns the end of the text. */

/* As printf does by %.15g if that reads back to the same bits, else by %.17g. */
char *cvtm_text_number(char *to, double value);
/* As by %.*f with 0 to 15 decimals, without trailing zeros; 0 instead of -0. */
char *cvtm_text_fixed(char *to, double value, int decimals);
char *cvtm_text_integer(char *to, int64_t value);
char *cvtm_text_word(char *to, const char *word);

/* Writes an item, which takes `most` bytes at most; called by several threads at once. */
typedef char *(*cvtm_item_writer)(char *to, const void *context, int64_t item);

enum { CVTM_MOST_ITEM_BYTES = 2048 };

/* Items 0 .. count - 1 in their order. Errors are left in the stream, as fwrite leaves them. */
void cvtm_write_items(FILE *file, int64_t count, size_t most, cvtm_item_writer writer,
                      const void *context);

#endif
