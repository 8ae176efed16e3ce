#include "testing.h"

#include "base/file.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each test runs in an empty directory of its own. */
static char directory[64];

static int enter_directory(void **state) {
  (void)state;
  strcpy(directory, "/tmp/cvtmesh-test-XXXXXX");
  return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int leave_directory(void **state) {
  (void)state;
  DIR *listing = opendir(".");
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;) remove(entry->d_name);
  closedir(listing);
  return chdir("/") != 0 || rmdir(directory) != 0;
}

static int count_entries(void) {
  int count = 0;
  DIR *listing = opendir(".");
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(listing);
  return count;
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *text) {
  unsigned char *bytes;
  size_t size;
  assert_ok(cvtm_file_read(path, 1 << 20, &bytes, &size, NULL));
  assert_int_equal(size, strlen(text));
  assert_string_equal((char *)bytes, text); /* the zero byte behind the data */
  free(bytes);
}

TEST(a_file_appears_only_when_it_is_committed) {
  cvtm_output *output;
  assert_ok(cvtm_output_open("a.txt", &output, NULL));
  fputs("whole", cvtm_output_stream(output));
  assert_int_not_equal(access("a.txt", F_OK), 0);
  assert_ok(cvtm_output_commit(output, NULL));
  assert_text("a.txt", "whole");
  assert_int_equal(count_entries(), 1);
}

TEST(an_abandoned_file_leaves_nothing) {
  cvtm_output *output;
  write_text("a.txt", "earlier");
  assert_ok(cvtm_output_open("a.txt", &output, NULL));
  fputs("later", cvtm_output_stream(output));
  cvtm_output_abort(output);
  cvtm_output_abort(NULL);
  assert_text("a.txt", "earlier");
  assert_int_equal(count_entries(), 1);
}

TEST(two_outputs_of_one_name_do_not_meet) {
  cvtm_output *one, *two;
  assert_ok(cvtm_output_open("a.txt", &one, NULL));
  assert_ok(cvtm_output_open("a.txt", &two, NULL));
  fputs("one", cvtm_output_stream(one));
  fputs("two", cvtm_output_stream(two));
  assert_ok(cvtm_output_commit(two, NULL));
  assert_ok(cvtm_output_commit(one, NULL));
  assert_text("a.txt", "one");
  assert_int_equal(count_entries(), 1);
}

static mode_t mode_of(const char *path) {
  struct stat found;
  assert_int_equal(stat(path, &found), 0);
  return found.st_mode & 07777;
}

static void write_through(const char *path) {
  cvtm_output *output;
  assert_ok(cvtm_output_open(path, &output, NULL));
  fputs("new", cvtm_output_stream(output));
  assert_ok(cvtm_output_commit(output, NULL));
}

TEST(modes_follow_the_umask_or_the_earlier_file) {
  mode_t before = umask(027);
  write_through("new.txt");
  write_text("old.txt", "old");
  assert_int_equal(chmod("old.txt", 0604), 0);
  write_through("old.txt");
  umask(before);
  assert_int_equal(mode_of("new.txt"), 0640);
  assert_int_equal(mode_of("old.txt"), 0604);
}

TEST(a_symbolic_link_stays_one) {
  struct stat found;
  write_text("target.txt", "old");
  assert_int_equal(symlink("target.txt", "link.txt"), 0);
  assert_int_equal(symlink("absent.txt", "dangling.txt"), 0);
  write_through("link.txt");
  write_through("dangling.txt");
  assert_text("target.txt", "new");
  assert_text("absent.txt", "new");
  assert_int_equal(lstat("link.txt", &found), 0);
  assert_true(S_ISLNK(found.st_mode));
}

TEST(a_dangling_link_names_a_file_that_is_whole_or_absent) {
  cvtm_output *output;
  assert_int_equal(mkdir("folder", 0700), 0);
  assert_int_equal(symlink("folder/second", "first"), 0);
  assert_int_equal(symlink("../absent.txt", "folder/second"), 0);
  assert_ok(cvtm_output_open("first", &output, NULL));
  fputs("half", cvtm_output_stream(output));
  assert_int_not_equal(access("absent.txt", F_OK), 0);
  cvtm_output_abort(output);
  assert_int_not_equal(access("absent.txt", F_OK), 0);
  write_through("first");
  assert_text("absent.txt", "new");
  assert_int_equal(unlink("folder/second"), 0);
  assert_int_equal(count_entries(), 3);
}

TEST(what_is_no_regular_file_is_written_in_place) {
  struct stat found;
  write_through("/dev/null");
  assert_int_equal(stat("/dev/null", &found), 0);
  assert_true(S_ISCHR(found.st_mode));
}

static void assert_open_fails(const char *path, const char *reason) {
  cvtm_output *output = NULL;
  cvtm_error error;
  assert_int_equal(cvtm_output_open(path, &output, &error), CVTM_ERROR_IO);
  assert_null(output);
  assert_int_equal(strncmp(error.message, path, strlen(path)), 0);
  assert_non_null(strstr(error.message, reason));
}

TEST(outputs_that_cannot_be_are_refused_at_once) {
  write_text("file", "");
  assert_open_fails("absent/a.txt", "No such file");
  assert_open_fails(".", "Is a directory");
  assert_open_fails("file/a.txt", "Not a directory");
  assert_open_fails("absent/", "not a file name");
  assert_open_fails("", "not a file name");
  if (geteuid() == 0) return; /* nothing is forbidden to root */
  assert_int_equal(mkdir("locked", 0500), 0);
  assert_open_fails("locked/a.txt", "Permission denied");
  write_text("fixed.txt", "fixed");
  assert_int_equal(chmod("fixed.txt", 0400), 0);
  assert_open_fails("fixed.txt", "Permission denied");
}

TEST(a_full_disk_is_an_error) {
  cvtm_output *output;
  cvtm_error error;
  /* Less than a buffer, so that only the end finds out; and more. */
  const int sizes[] = {1, 1 << 20};
  for (int size = 0; size < 2; ++size) {
    assert_ok(cvtm_output_open("/dev/full", &output, NULL));
    for (int k = 0; k < sizes[size]; ++k) fputc('x', cvtm_output_stream(output));
    assert_int_equal(cvtm_output_commit(output, &error), CVTM_ERROR_IO);
    assert_int_equal(strncmp(error.message, "/dev/full: ", 11), 0);
  }
}

TEST(reading_says_what_is_wrong) {
  cvtm_error error;
  unsigned char *bytes = NULL;
  size_t size;
  assert_int_equal(cvtm_file_read("absent", 10, &bytes, &size, &error), CVTM_ERROR_INPUT);
  assert_string_equal(error.message, "absent: No such file or directory");
  assert_int_equal(cvtm_file_read(".", 10, &bytes, &size, &error), CVTM_ERROR_INPUT);
  assert_string_equal(error.message, ".: Is a directory");
  assert_null(bytes);
}

TEST(the_limit_holds_for_files_and_for_streams) {
  cvtm_error error;
  unsigned char *bytes;
  size_t size;
  write_text("four", "1234");
  assert_int_equal(cvtm_file_read("four", 3, &bytes, &size, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "four: "));
  assert_ok(cvtm_file_read("four", 4, &bytes, &size, &error));
  assert_int_equal(size, 4);
  free(bytes);
  assert_int_equal(cvtm_file_read("/dev/zero", 1000000, &bytes, &size, &error), CVTM_ERROR_INPUT);
  assert_ok(cvtm_file_read("/dev/null", 0, &bytes, &size, &error));
  assert_int_equal(size, 0);
  free(bytes);
}

TEST(large_files_come_whole) {
  enum { COUNT = 300001 };
  cvtm_output *output;
  unsigned char *bytes;
  size_t size;
  assert_ok(cvtm_output_open("large", &output, NULL));
  for (int k = 0; k < COUNT; ++k) fputc(k % 251, cvtm_output_stream(output));
  assert_ok(cvtm_output_commit(output, NULL));
  assert_ok(cvtm_file_read("large", COUNT, &bytes, &size, NULL));
  assert_int_equal(size, COUNT);
  for (int k = 0; k < COUNT; ++k) assert_int_equal(bytes[k], k % 251);
  free(bytes);
}

TEST(a_dash_is_the_standard_streams) {
  cvtm_output *output;
  unsigned char *bytes;
  size_t size;
  fflush(stdout);
  int out = dup(STDOUT_FILENO), in = dup(STDIN_FILENO);
  assert_non_null(freopen("stream", "wb", stdout));
  cvtm_status opened = cvtm_output_open("-", &output, NULL);
  fputs("through", cvtm_output_stream(output));
  cvtm_status committed = cvtm_output_commit(output, NULL);
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  assert_non_null(freopen("stream", "rb", stdin));
  cvtm_status read = cvtm_file_read("-", 100, &bytes, &size, NULL);
  dup2(in, STDIN_FILENO);
  close(out);
  close(in);
  assert_ok(opened);
  assert_ok(committed);
  assert_ok(read);
  assert_string_equal((char *)bytes, "through");
  free(bytes);
}

TEST(extensions_are_found) {
  char buffer[8];
  assert_string_equal(cvtm_file_extension("a.PnG", buffer, sizeof buffer), "png");
  assert_string_equal(cvtm_file_extension("x.y/a.tar.gz", buffer, sizeof buffer), "gz");
  assert_string_equal(cvtm_file_extension("x.y/a", buffer, sizeof buffer), "");
  assert_string_equal(cvtm_file_extension("x/.hidden", buffer, sizeof buffer), "");
  assert_string_equal(cvtm_file_extension("a.", buffer, sizeof buffer), "");
  assert_string_equal(cvtm_file_extension("-", buffer, sizeof buffer), "");
  assert_string_equal(cvtm_file_extension("a.abcdefgh", buffer, sizeof buffer), "");
  assert_string_equal(cvtm_file_extension("a.abcdefg", buffer, sizeof buffer), "abcdefg");
}

TEST_MAIN_EACH(enter_directory, leave_directory)
