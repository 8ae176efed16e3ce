/* Identifies the file that a path names, and refuses commands that would overwrite a file which
 * they read or write under another name. */
#ifndef CVTMESH_CLI_FILES_H
#define CVTMESH_CLI_FILES_H

#include "cli/batch_keys.h"
#include "cli/options.h"

/* Two paths name one regular file if `name` or, where both have it, `inode` is the same. */
typedef struct cli_file_id {
  int is_file;    /* 0: a device, a pipe, a folder, in memory, or no path that can be opened */
  batch_key name; /* the folder and the name in it, symbolic links resolved */
  int exists, is_linked; /* is_linked: it has several names */
  batch_key inode;       /* device and inode, if it exists */
} cli_file_id;

/* The file need not exist. */
cli_file_id cli_file_id_of(const char *path);

/* Refuses a file that is written and also read, or written twice, and two outputs to standard
 * output. Changes no file. Returns CLI_EXIT_OK, or the exit code after a message. */
int cli_files_check(const cli_options *options);

#endif
