#include "cli/hlcp_splitting.h"

#include "cli/cli.h"
#include "lcp/matrix_market.h"

#include <stdlib.h>
#include <string.h>

int cli_hlcp_splitting_check(const cli_options *o) {
  const int a = o->hlcp.splitting_a.count, b = o->hlcp.splitting_b.count;
  if (a == 0 && b == 0) return CLI_EXIT_OK;
  if (a == 0) return cli_usage_error(CLI_HLCP, "--splitting-b goes with --splitting-a");
  if (b > 0 && a != b)
    return cli_usage_error(CLI_HLCP, "--splitting-a is given %d times, --splitting-b %d times", a,
                           b);
  if (cli_option_given(o, "splits") && o->hlcp.splits != a)
    return cli_usage_error(CLI_HLCP, "--splits is %lld, but --splitting-a is given %d times",
                           (long long)o->hlcp.splits, a);
  if (o->hlcp.method == (int)CVTM_HLCP_NEWTON)
    return cli_usage_error(CLI_HLCP, "newton has no splittings");
  if (o->hlcp.suggest)
    return cli_usage_error(CLI_HLCP, "--suggest tries splittings of its own, not given ones");
  return CLI_EXIT_OK;
}

cvtm_status cli_identity(int64_t n, cvtm_csr *matrix, cvtm_error *error) {
  const cvtm_status status = cvtm_csr_create(n, n, n, matrix, error);
  for (int64_t i = 0; i < n && status == CVTM_OK; ++i) {
    matrix->row_start[i + 1] = i + 1;
    matrix->column[i] = (int32_t)i;
    matrix->value[i] = 1;
  }
  return status;
}

cvtm_status cli_hlcp_splitting_read(const cli_options *o, int64_t rows, cli_hlcp_splitting *s,
                                    cvtm_error *error) {
  const int count = o->hlcp.splitting_a.count;
  if (count == 0) return CVTM_OK;
  s->m_a = calloc(2 * CLI_LIST_MAX, sizeof *s->m_a);
  if (s->m_a == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  s->m_b = s->m_a + CLI_LIST_MAX;
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < count && status == CVTM_OK; ++k) {
    status = cvtm_matrix_market_read(o->hlcp.splitting_a.item[k], &s->m_a[k], error);
    if (status == CVTM_OK)
      status = o->hlcp.splitting_b.count > 0
                   ? cvtm_matrix_market_read(o->hlcp.splitting_b.item[k], &s->m_b[k], error)
                   : cli_identity(rows, &s->m_b[k], error);
  }
  s->given.count = count;
  s->given.m_a = s->m_a;
  s->given.m_b = s->m_b;
  return status;
}

void cli_hlcp_splitting_free(cli_hlcp_splitting *s) {
  for (int k = 0; k < 2 * CLI_LIST_MAX && s->m_a != NULL; ++k) cvtm_csr_free(&s->m_a[k]);
  free(s->m_a);
  memset(s, 0, sizeof *s);
}
