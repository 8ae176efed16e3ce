/* hlcp --splitting-a, --splitting-b: multisplittings by matrices in files. */
#ifndef CVTMESH_CLI_HLCP_SPLITTING_H
#define CVTMESH_CLI_HLCP_SPLITTING_H

#include "cli/options.h"
#include "lcp/hlcp.h"

/* The matrices of a multisplitting. */
typedef struct cli_hlcp_splitting {
  cvtm_hlcp_multisplitting given;
  cvtm_csr *m_a, *m_b; /* CLI_LIST_MAX each; NULL: none */
} cli_hlcp_splitting;

cvtm_status cli_identity(int64_t n, cvtm_csr *matrix, cvtm_error *error);
/* Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_hlcp_splitting_check(const cli_options *options);
/* Reads the files; without --splitting-b, every M_B is the identity of `rows` rows. Free
 * *splitting, which is empty before, whatever is returned. given.count is 0 without
 * --splitting-a. */
cvtm_status cli_hlcp_splitting_read(const cli_options *options, int64_t rows,
                                    cli_hlcp_splitting *splitting, cvtm_error *error);
void cli_hlcp_splitting_free(cli_hlcp_splitting *splitting);

#endif
