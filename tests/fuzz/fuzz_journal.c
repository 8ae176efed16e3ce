/* A journal that batch resumes from. */
#include "cli/batch_journal.h"
#include "cli/cli.h"

#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  char path[128];
  snprintf(path, sizeof path, "%s", fuzz_write_file("journal", data, size));
  cvtm_error error;
  batch_journal *journal = NULL;
  if (batch_journal_open(path, path, 1, 7, &journal, &error) != CVTM_OK) return 0;
  batch_job job = {.index = 0, .options = {.command = CLI_RUN, .input = "a.png"}};
  (void)batch_journal_has(journal, &job, batch_job_key(&job));
  cJSON *failures = cJSON_CreateArray();
  if (batch_journal_failures(journal, 5, failures, &error) != CVTM_OK) abort();
  if (cJSON_GetArraySize(failures) > 5) abort();
  cJSON_Delete(failures);
  batch_journal_close(journal);
  return 0;
}
