#include "lcp/krylov.h"

enum { ROWS_PER_THREAD = 8192 }; /* fewer rows take less time than starting a thread */

static cvtm_status krylov_pass_cpu(cvtm_device *device, const cvtm_krylov_view *view,
                                   cvtm_krylov_pass pass) {
  if (cvtm_krylov_is_scalar(pass)) {
    cvtm_krylov_decide(view->state, pass);
    return CVTM_OK;
  }
  const int64_t useful = 1 + view->n / ROWS_PER_THREAD;
  const int threads =
      useful < cvtm_device_threads(device) ? (int)useful : cvtm_device_threads(device);
  (void)threads; /* without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < view->n; ++i) cvtm_krylov_element(view, pass, i);
  return CVTM_OK;
}

const cvtm_krylov_table cvtm_krylov_table_cpu = {krylov_pass_cpu};
