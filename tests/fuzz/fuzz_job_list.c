/* A list of jobs, read twice as batch does; the first byte chooses the format. */
#include "cli/batch.h"
#include "cli/cli.h"

#include "fuzz_file.h"

/* The number of jobs before the end or the first error. */
static int64_t read_jobs(batch_list *list) {
  cvtm_error error;
  batch_job *job = NULL;
  int64_t index = 0;
  while (batch_list_get(list, index, &job, &error) == CVTM_OK && job != NULL) {
    if (job->index != index || job->options.run.input.name == NULL) abort();
    batch_job_free(job);
    ++index;
  }
  return index;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  char program[] = "batch", path[128], points[] = "-n", number[] = "20", output[] = "--report",
       file[] = "r.json";
  cvtm_error message;
  snprintf(path, sizeof path, "%s", fuzz_write_file("jobs.jsonl", data, size));
  char *argv[] = {program, path, points, number, output, file, NULL};
  cli_options options;
  int code;
  cli_capture_messages(&message);
  if (cli_options_parse(CLI_BATCH, 6, argv, &options, &code) != CLI_PARSED) abort();
  cvtm_error error;
  batch_list *list = NULL;
  if (batch_list_open(&options, &list, &error) == CVTM_OK) {
    const int64_t count = read_jobs(list);
    if (batch_list_rewind(list, &error) != CVTM_OK || read_jobs(list) != count) abort();
    batch_list_close(list);
  }
  cli_capture_messages(NULL);
  cli_options_free(&options);
  return 0;
}
