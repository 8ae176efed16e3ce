/* Any bytes as a Matrix Market file: what is read is a matrix. */
#include "lcp/matrix_market.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  /* The reader wants a zero byte behind the data. */
  unsigned char *bytes = malloc(size + 1);
  if (bytes == NULL) return 0;
  for (size_t k = 0; k < size; ++k) bytes[k] = data[k];
  bytes[size] = 0;
  cvtm_csr matrix;
  cvtm_error error;
  if (cvtm_matrix_market_parse(bytes, size, "fuzz", &matrix, &error) == CVTM_OK) {
    if (cvtm_csr_check(&matrix, "fuzz", &error) != CVTM_OK) abort();
    cvtm_csr_free(&matrix);
  } else if (matrix.value != NULL) {
    abort();
  }
  free(bytes);
  return 0;
}
