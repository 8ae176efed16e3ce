/* Identifies the file that a path names, and the files that a run reads. */
#pragma once

#include "meshes/format.h"
#include "run/options.h"

#include <stddef.h>
#include <stdint.h>

/* Keys of 128 bits, and sets of such keys. A key stands for a path or a job. */

typedef struct batch_key {
  uint64_t word[2];
} batch_key;

enum { BATCH_KEY_TEXT = 33 }; /* 32 hexadecimal digits and the terminating zero */

batch_key batch_key_start(void);
void batch_key_add(batch_key *key, const void *bytes, size_t size);
void batch_key_add_text(batch_key *key,
                        const char *text); /* includes the terminating zero; NULL differs from "" */
void batch_key_print(const batch_key *key, char text[BATCH_KEY_TEXT]);
/* Returns 0 if the text is not a key. */
int batch_key_parse(const char *text, batch_key *key);

/* A set of keys; all zero: empty. */
typedef struct batch_key_set {
  void *tree; /* for tsearch */
} batch_key_set;

/* Returns 1 if the key was added, 0 if the set already has it, -1 if memory runs out. */
int batch_key_set_add(batch_key_set *set, batch_key key);
int batch_key_set_has(const batch_key_set *set, batch_key key);
void batch_key_set_free(batch_key_set *set);

/* Two paths name one regular file if `name` is equal or, where both exist, `inode`. */
typedef struct run_file_id {
  int is_file;    /* 0: a device, a pipe, a folder, in memory, or a path that cannot be opened */
  batch_key name; /* the folder and the name in it, symbolic links resolved */
  int exists, is_linked; /* is_linked: the file has several names */
  batch_key inode;       /* device and inode, if it exists */
} run_file_id;

/* Identifies the file of a path; it need not exist. */
run_file_id run_file_id_of(const char *path);

int run_same_file(const run_file_id *a, const run_file_id *b);

/* Visits every file that a run with these options reads, and the files that belong to those.
 * Options are without dashes; NULL for the picture; the path `-` is standard input. */
void run_visit_read(const cvtm_run_options *options, cvtm_path_visitor visitor, void *context);

/* Files that are read or written; all zero: empty. */
typedef struct run_file {
  int is_written;
  const char *option; /* without the dashes; NULL: the operand */
  char *path;
  run_file_id id;
} run_file;

typedef struct run_file_list {
  run_file *file;
  int count;
  int64_t capacity;
  int failed; /* memory ran out */
} run_file_list;

void run_files_add(run_file_list *list, int is_written, const char *option, const char *path);
/* CVTM_ERROR_USAGE if a file that is written is also another file of the list. Files from `named`
 * on are compared only with earlier files. operand: the operand's name in messages. */
cvtm_status run_files_check(const run_file_list *list, int named, const char *operand,
                            cvtm_error *error);
void run_files_free(run_file_list *list);

/* run_files_check for all files of a run and those that belong to them. A checkpoint may replace
 * the one that was read. */
cvtm_status run_refuse_overwriting(const cvtm_run_options *options, cvtm_error *error);
