#include "lcp/lcp.h"

#include <string.h>

const char *cvtm_lcp_method_name(cvtm_lcp_method method) {
  static const char *const names[] = {
#define CVTM_LCP_METHOD_NAME(code, name) name,
      CVTM_LCP_METHOD_LIST(CVTM_LCP_METHOD_NAME)
#undef CVTM_LCP_METHOD_NAME
  };
  return names[method];
}

const char *cvtm_lcp_stop_name(cvtm_lcp_stop stop) {
  static const char *const names[] = {
#define CVTM_LCP_STOP_NAME(code, name) name,
      CVTM_LCP_STOP_LIST(CVTM_LCP_STOP_NAME)
#undef CVTM_LCP_STOP_NAME
  };
  return names[stop];
}

void cvtm_lcp_defaults(cvtm_lcp_options *options) {
  memset(options, 0, sizeof *options);
  options->method = CVTM_LCP_AUTO;
  options->tolerance = 1e-8;
  options->max_iterations = 200;
  options->omega = 1;
  options->pre_smoothing = 1;
  options->post_smoothing = 1;
  options->nested = 1;
}
