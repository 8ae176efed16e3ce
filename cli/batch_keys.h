/* Keys of 128 bits and sets of them: 16 bytes stand for a path or for a job. */
#ifndef CVTMESH_CLI_BATCH_KEYS_H
#define CVTMESH_CLI_BATCH_KEYS_H

#include <stddef.h>
#include <stdint.h>

typedef struct batch_key {
  uint64_t word[2];
} batch_key;

enum { BATCH_KEY_TEXT = 33 }; /* hexadecimal digits and the end */

batch_key batch_key_start(void);
void batch_key_add(batch_key *key, const void *bytes, size_t size);
void batch_key_add_text(batch_key *key, const char *text); /* with its end; NULL is not "" */
void batch_key_print(const batch_key *key, char text[BATCH_KEY_TEXT]);
/* False if the text is not that of a key. */
int batch_key_parse(const char *text, batch_key *key);

/* Zero-initialised: empty. */
typedef struct batch_key_set {
  batch_key *slot; /* capacity, a power of two; all zero: free */
  size_t count, capacity;
} batch_key_set;

/* 1: added, 0: was there, -1: no memory. */
int batch_key_set_add(batch_key_set *set, batch_key key);
int batch_key_set_has(const batch_key_set *set, batch_key key);
void batch_key_set_free(batch_key_set *set);

#endif
