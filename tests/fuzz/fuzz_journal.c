/* A journal that batch resumes from. */
#include "cli/batch.h"
#include "cli/cli.h"

#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static const char first[] = "{\"session\":6}\n";
  char path[128];
  unsigned char *content = malloc(sizeof first + size);
  if (content == NULL) abort();
  memcpy(content, first, sizeof first - 1);
  memcpy(content + sizeof first - 1, data, size);
  snprintf(path, sizeof path, "%s", fuzz_write_file("journal", content, sizeof first - 1 + size));
  free(content);
  cvtm_error error;
  batch_journal *journal = NULL;
  if (batch_journal_open(path, path, 1, 7, &journal, &error) != CVTM_OK) return 0;
  batch_job job = {.index = 0, .options = {.command = CLI_RUN, .run.input.name = "a.png"}};
  (void)batch_journal_code(journal, &job, batch_job_key(&job));
  cJSON *failures = cJSON_CreateArray();
  if (batch_journal_failures(journal, 5, failures, &error) != CVTM_OK) abort();
  if (cJSON_GetArraySize(failures) > 5) abort();
  cJSON_Delete(failures);
  batch_journal_close(journal);
  return 0;
}
