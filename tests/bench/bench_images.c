/* Reading a PNG or a JPEG, --image FILE, beside the loop of its library that throws the rows away:
 * the best time of --rounds N (3), and the processor time of the thread that decodes, which alone
 * means something on a busy machine. Also --threads N. */
#include "base/clock.h"
#include "base/file.h"
#include "tests/bench/harness.h"
#include "density/density.h"

#include <omp.h>
#include <time.h>

#include <jpeglib.h>
#include <png.h>

typedef struct file_bytes {
  unsigned char *bytes;
  size_t size, at;
} file_bytes;

static void read_some(png_structp png, png_bytep target, size_t count) {
  file_bytes *file = png_get_io_ptr(png);
  if (count > file->size - file->at) png_error(png, "truncated");
  memcpy(target, file->bytes + file->at, count);
  file->at += count;
}

static void decode_png(file_bytes *file) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  file->at = 0;
  png_set_read_fn(png, file, read_some);
  png_read_info(png, info);
  png_set_expand(png);
  png_read_update_info(png, info);
  unsigned char *row = malloc(png_get_rowbytes(png, info));
  const png_uint_32 height = png_get_image_height(png, info);
  for (png_uint_32 y = 0; y < height; ++y) png_read_row(png, row, NULL);
  png_read_end(png, NULL);
  png_destroy_read_struct(&png, &info, NULL);
  free(row);
}

static void decode_jpeg(file_bytes *file) {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file->bytes, file->size);
  jpeg_read_header(&jpeg, TRUE);
  jpeg_start_decompress(&jpeg);
  JSAMPROW row = malloc((size_t)jpeg.output_width * 4);
  while (jpeg.output_scanline < jpeg.output_height) jpeg_read_scanlines(&jpeg, &row, 1);
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  free(row);
}

static void decode_alone(file_bytes *file) {
  if (file->size > 4 && memcmp(file->bytes, "\x89PNG", 4) == 0) {
    decode_png(file);
  } else {
    decode_jpeg(file);
  }
}

static void read_image(file_bytes *file) {
  cvtm_image image;
  cvtm_error error;
  if (cvtm_image_parse(file->bytes, file->size, "the image", &image, &error) != CVTM_OK) {
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.message);
    exit(1);
  }
  cvtm_image_free(&image);
}

static double thread_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void measure_reader(const char *name, void (*function)(file_bytes *), file_bytes *file,
                           int rounds) {
  double seconds = (double)INFINITY, thread = (double)INFINITY;
  for (int k = 0; k < rounds; ++k) {
    const double start = cvtm_clock(), thread_start = thread_clock();
    function(file);
    seconds = fmin(seconds, cvtm_clock() - start);
    thread = fmin(thread, thread_clock() - thread_start);
  }
  printf("  %-10s %8.3f s, processor time of the decoding thread %8.3f s\n", name, seconds, thread);
}

int main(int argc, char **argv) {
  const char *path = bench_text(argc, argv, "--image", NULL);
  const int rounds = (int)bench_integer(argc, argv, "--rounds");
  const int threads = (int)bench_integer(argc, argv, "--threads");
  file_bytes file = {0};
  cvtm_error error;
  if (path == NULL) {
    fprintf(stderr, "%s: --image is missing\n", program_invocation_short_name);
    return 2;
  }
  if (threads > 0) omp_set_num_threads(threads);
  if (cvtm_file_read(path, (size_t)4 << 30, &file.bytes, &file.size, &error) != CVTM_OK) {
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.message);
    return 1;
  }
  printf("%s, %d threads\n", path, omp_get_max_threads());
  measure_reader("decoder", decode_alone, &file, rounds > 0 ? rounds : 3);
  measure_reader("read", read_image, &file, rounds > 0 ? rounds : 3);
  free(file.bytes);
  return 0;
}
