#include "cli/batch_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

batch_key batch_key_start(void) {
  const batch_key key = {{UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)}};
  return key;
}

/* Two hashes of 64 bits: FNV-1a, and a rotating hash with another multiplier. */
void batch_key_add(batch_key *key, const void *bytes, size_t size) {
  const unsigned char *byte = bytes;
  uint64_t a = key->word[0], b = key->word[1];
  for (size_t k = 0; k < size; ++k) {
    a = (a ^ byte[k]) * UINT64_C(0x100000001b3);
    b = (b + byte[k] + 1) * UINT64_C(0xd6e8feb86659fd93);
    b ^= b >> 32;
  }
  key->word[0] = a;
  key->word[1] = b;
}

void batch_key_add_text(batch_key *key, const char *text) {
  const char given = text != NULL;
  batch_key_add(key, &given, 1);
  if (text != NULL) batch_key_add(key, text, strlen(text) + 1);
}

void batch_key_print(const batch_key *key, char text[BATCH_KEY_TEXT]) {
  snprintf(text, BATCH_KEY_TEXT, "%016llx%016llx", (unsigned long long)key->word[0],
           (unsigned long long)key->word[1]);
}

int batch_key_parse(const char *text, batch_key *key) {
  if (strlen(text) != BATCH_KEY_TEXT - 1) return 0;
  if (strspn(text, "0123456789abcdef") != BATCH_KEY_TEXT - 1) return 0;
  char half[17];
  memcpy(half, text, 16);
  half[16] = '\0';
  key->word[0] = strtoull(half, NULL, 16);
  key->word[1] = strtoull(text + 16, NULL, 16);
  return 1;
}

static int is_free(const batch_key *slot) { return slot->word[0] == 0 && slot->word[1] == 0; }

/* The slot that holds the key, or else the free slot where it belongs. */
static batch_key *find(const batch_key_set *set, batch_key key) {
  size_t place = (size_t)key.word[1] & (set->capacity - 1);
  while (!is_free(&set->slot[place]) && memcmp(&set->slot[place], &key, sizeof key) != 0)
    place = (place + 1) & (set->capacity - 1);
  return &set->slot[place];
}

static int grow(batch_key_set *set) {
  batch_key_set larger = {NULL, set->count, set->capacity > 0 ? 2 * set->capacity : 64};
  larger.slot = calloc(larger.capacity, sizeof *larger.slot);
  if (larger.slot == NULL) return 0;
  for (size_t k = 0; k < set->capacity; ++k)
    if (!is_free(&set->slot[k])) *find(&larger, set->slot[k]) = set->slot[k];
  free(set->slot);
  *set = larger;
  return 1;
}

int batch_key_set_add(batch_key_set *set, batch_key key) {
  if (is_free(&key)) key.word[0] = 1;
  if (2 * (set->count + 1) > set->capacity && !grow(set)) return -1;
  batch_key *slot = find(set, key);
  if (!is_free(slot)) return 0;
  *slot = key;
  ++set->count;
  return 1;
}

int batch_key_set_has(const batch_key_set *set, batch_key key) {
  if (is_free(&key)) key.word[0] = 1;
  return set->capacity > 0 && !is_free(find(set, key));
}

void batch_key_set_free(batch_key_set *set) {
  free(set->slot);
  memset(set, 0, sizeof *set);
}
