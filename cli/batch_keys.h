/* Keys of 128 bits and sets of them: 16 bytes stand for a path or for a job. */
#ifndef CVTMESH_CLI_BATCH_KEYS_H
#define CVTMESH_CLI_BATCH_KEYS_H

#include <stddef.h>
#include <stdint.h>

typedef struct batch_key {
  uint64_t word[2];
} batch_key;

enum { BATCH_KEY_TEXT = 33 }; /* 32 hexadecimal digits and the terminating zero */

batch_key batch_key_start(void);
void batch_key_add(batch_key *key, const void *bytes, size_t size);
void batch_key_add_text(
    batch_key *key, const char *text); /* hashes the terminating zero too; NULL differs from "" */
void batch_key_print(const batch_key *key, char text[BATCH_KEY_TEXT]);
/* Returns 0 if the text is not a key. */
int batch_key_parse(const char *text, batch_key *key);

/* An open-addressing hash set; all zero: empty. */
typedef struct batch_key_set {
  batch_key *slot; /* of `capacity`, a power of two; a key of zeros marks a free slot */
  size_t count, capacity;
} batch_key_set;

/* Returns 1 if the key was added, 0 if the set has it, -1 without memory. */
int batch_key_set_add(batch_key_set *set, batch_key key);
int batch_key_set_has(const batch_key_set *set, batch_key key);
void batch_key_set_free(batch_key_set *set);

#endif
