/* A file of pens. */
#include "run/colours.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  run_pens pens;
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status = run_pens_parse((const char *)data, size, "pens", &pens, &error);
  if (status != CVTM_OK && error.message[0] == '\0') abort();
  if (status == CVTM_OK && (pens.inks.count < 1 || pens.inks.count > CVTM_INKS_MAX)) abort();
  for (int k = 0; status == CVTM_OK && k < pens.inks.count; ++k)
    if (pens.pen[k].name[0] == '\0' || strchr(pens.pen[k].name, '\n') != NULL) abort();
  return 0;
}
