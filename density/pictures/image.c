#include "density/pictures/colour.h"
#include "density/pictures/image_formats.h"
#include "density/pictures/image_place.h"

#include "base/file.h"
#include "base/large_pages.h"
#include "base/npy.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- What the decoders share --- */

cvtm_status cvtm_image_check_size(const cvtm_image_source *source, uint64_t width, uint64_t height,
                                  cvtm_error *error) {
  if (width == 0 || height == 0) {
    cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the image has no pixels (%llu x %llu)", source->name,
              (unsigned long long)width, (unsigned long long)height);
    return CVTM_ERROR_INPUT;
  }
  if (width > CVTM_MAX_SIDE || height > CVTM_MAX_SIDE) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: %llu x %llu pixels are more than the limit of %d a side", source->name,
                     (unsigned long long)width, (unsigned long long)height, CVTM_MAX_SIDE);
  }
  const uint64_t planes = source->with_rgb ? 4 : 1;
  return cvtm_check_expansion(source->name, source->size, width * height * planes * sizeof(float),
                              error);
}

cvtm_status cvtm_image_check_ratio(const cvtm_image_source *source, uint64_t raw, uint64_t ratio,
                                   cvtm_error *error) {
  if (raw / ratio > source->size) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: truncated: %zu bytes cannot hold the pixels that the header claims",
                     source->name, source->size);
  }
  return CVTM_OK;
}

cvtm_status cvtm_image_allocate(const cvtm_image_source *source, int width, int height,
                                int with_alpha, cvtm_image *image, cvtm_error *error) {
  size_t count = (size_t)width * (size_t)height;
  *image = (cvtm_image){.width = width, .height = height};
  image->value = malloc(count * sizeof *image->value);
  cvtm_prefer_large_pages(image->value, count * sizeof *image->value);
  if (with_alpha) image->alpha = malloc(count * sizeof *image->alpha);
  if (image->value == NULL || (with_alpha && image->alpha == NULL)) {
    cvtm_image_free(image);
    cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory for %d x %d pixels", source->name, width,
              height);
    return CVTM_ERROR_MEMORY;
  }
  return CVTM_OK;
}

void cvtm_image_note(cvtm_image *image, const char *format, ...) {
  const size_t length = strlen(image->note), most = sizeof image->note;
  va_list arguments;
  va_start(arguments, format);
  if (length > 0) snprintf(image->note + length, most - length, "; ");
  const size_t start = strlen(image->note);
  vsnprintf(image->note + start, most - start, format, arguments);
  va_end(arguments);
}

void cvtm_image_free(cvtm_image *image) {
  if (image == NULL) return;
  free(image->storage != NULL ? image->storage : image->value);
  free(image->alpha);
  free(image->rgb);
  image->value = image->alpha = image->rgb = NULL;
  image->storage = NULL;
  image->width = image->height = image->is_data = 0;
  image->masked = 0;
  image->note[0] = 0;
}

/* Writes one plane turned; the new one is height x width where the orientation swaps the sides. */
static void orient_plane(const float *plane, int width, int height, int orientation,
                         float *turned) {
  int swap = orientation >= 5;
  int mirror_x = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  int mirror_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  int new_width = swap ? height : width;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int u = swap ? (mirror_x ? height - 1 - y : y) : (mirror_x ? width - 1 - x : x);
      int v = swap ? (mirror_y ? width - 1 - x : x) : (mirror_y ? height - 1 - y : y);
      turned[(size_t)v * (size_t)new_width + (size_t)u] =
          plane[(size_t)y * (size_t)width + (size_t)x];
    }
  }
}

/* Turns `count` planes that lie one after another. Returns 0 without memory. */
static int orient_planes(float **planes, size_t count, const cvtm_image *image, int orientation) {
  if (*planes == NULL) return 1;
  const size_t plane = (size_t)image->width * (size_t)image->height;
  float *turned = malloc(count * plane * sizeof *turned);
  if (turned == NULL) return 0;
  for (size_t k = 0; k < count; ++k)
    orient_plane(*planes + k * plane, image->width, image->height, orientation, turned + k * plane);
  free(*planes);
  *planes = turned;
  return 1;
}

cvtm_status cvtm_image_orient(const cvtm_image_source *source, int orientation, cvtm_image *image,
                              cvtm_error *error) {
  if (orientation < 2 || orientation > 8) return CVTM_OK;
  cvtm_place_orient(&image->place, orientation);
  if (!orient_planes(&image->value, 1, image, orientation) ||
      !orient_planes(&image->alpha, 1, image, orientation) ||
      !orient_planes(&image->rgb, 3, image, orientation)) {
    cvtm_image_free(image);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", source->name);
  }
  if (orientation >= 5) {
    int width = image->width;
    image->width = image->height;
    image->height = width;
  }
  return CVTM_OK;
}

cvtm_status cvtm_image_store_data(const cvtm_image_source *source, cvtm_image *image, int x, int y,
                                  double value, cvtm_error *error) {
  float narrow = (float)value;
  if (isfinite(value) && !isfinite(narrow)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the value %g at pixel (%d, %d) is beyond single precision", source->name,
                     value, x, y);
  }
  image->value[(size_t)y * (size_t)image->width + (size_t)x] = narrow;
  return CVTM_OK;
}

/* --- NPY --- */

static cvtm_status check_shape(const cvtm_image_source *source, const cvtm_npy *array,
                               cvtm_error *error) {
  if (array->dimensions == 2 || (array->dimensions == 3 && array->shape[2] == 1))
    return cvtm_image_check_size(source, (uint64_t)array->shape[1], (uint64_t)array->shape[0],
                                 error);
  if (array->dimensions == 3)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: an array of shape (%lld, %lld, %lld) is not a density: give one "
                     "channel, of shape (height, width)",
                     source->name, (long long)array->shape[0], (long long)array->shape[1],
                     (long long)array->shape[2]);
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: an array of %d dimensions is not a density: its shape must be "
                   "(height, width)",
                   source->name, array->dimensions);
}

/* The image takes the array's floats over. */
static void take_floats(cvtm_npy *array, cvtm_image *image) {
  *image = (cvtm_image){.width = (int)array->shape[1],
                        .height = (int)array->shape[0],
                        .value = array->data,
                        .storage = array->storage};
  array->data = array->storage = NULL;
}

/* Stores all values; of those that no float holds the first is refused. */
static cvtm_status store_values(const cvtm_image_source *source, const cvtm_npy *array,
                                cvtm_image *image, cvtm_error *error) {
  int first = image->height;
#pragma omp parallel for schedule(static) reduction(min : first) if (array->count >= 1 << 20)
  for (int y = 0; y < image->height; ++y) {
    const int64_t start = (int64_t)y * image->width;
    const int bad = cvtm_npy_get_floats(array, start, image->width, image->value + start);
    if (bad && y < first) first = y;
  }
  cvtm_status status = CVTM_OK;
  for (int x = 0; first < image->height && status == CVTM_OK && x < image->width; ++x) {
    const double value = cvtm_npy_get(array, (int64_t)first * image->width + x);
    status = cvtm_image_store_data(source, image, x, first, value, error);
  }
  return status;
}

static cvtm_status read_array(const cvtm_image_source *source, cvtm_npy *array, cvtm_error *error) {
  if (source->owned == NULL)
    return cvtm_npy_parse(source->bytes, source->size, source->name, array, error);
  unsigned char *bytes = *source->owned;
  *source->owned = NULL;
  return cvtm_npy_take(bytes, source->size, source->name, array, error);
}

cvtm_status cvtm_image_decode_npy(const cvtm_image_source *source, cvtm_image *image,
                                  cvtm_error *error) {
  cvtm_npy array = {0};
  cvtm_status status = read_array(source, &array, error);
  if (status == CVTM_OK) status = check_shape(source, &array, error);
  if (status == CVTM_OK && array.kind == 'f' && array.item == 4) {
    take_floats(&array, image);
  } else if (status == CVTM_OK) {
    status = cvtm_image_allocate(source, (int)array.shape[1], (int)array.shape[0], 0, image, error);
    if (status == CVTM_OK) status = store_values(source, &array, image, error);
  }
  image->is_data = 1;
  cvtm_npy_free(&array);
  if (status != CVTM_OK) cvtm_image_free(image);
  return status;
}

/* --- Dispatch --- */

int cvtm_image_applies_profiles(void) { return cvtm_colour_reads_profiles(); }

/* The calling thread decodes rows; the other threads of the team store them. */
static cvtm_status decode_in_team(cvtm_image_decoder decode, const cvtm_image_source *source,
                                  cvtm_image *image, cvtm_error *error) {
  const size_t small = (size_t)1 << 16; /* bytes of a file that one thread reads as quickly */
  const int has_tasks = decode == cvtm_image_decode_png || decode == cvtm_image_decode_jpeg;
  if (!has_tasks || source->size < small) return decode(source, image, error);
  cvtm_status status = CVTM_OK;
#pragma omp parallel
#pragma omp master
  status = decode(source, image, error);
  return status;
}

static cvtm_status parse_image(const cvtm_image_source *source, cvtm_image *image,
                               cvtm_error *error) {
  const char *name = source->name;
  *image = (cvtm_image){0};
  if (source->size == 0) return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the file is empty", name);
  cvtm_image_decoder decode = NULL;
  cvtm_status status = cvtm_image_find_decoder(source, &decode, error);
  if (status != CVTM_OK) return status;
  errno = 0;
  status = decode_in_team(decode, source, image, error);
  /* The formats' libraries tell a lack of memory only as text; the C library has told it, too. */
  if (status == CVTM_ERROR_INPUT && errno == ENOMEM)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  return status;
}

cvtm_status cvtm_image_parse(const unsigned char *bytes, size_t size, const char *name,
                             cvtm_image *image, cvtm_error *error) {
  const cvtm_image_source source = {.bytes = bytes, .size = size, .name = name};
  return parse_image(&source, image, error);
}

cvtm_status cvtm_image_parse_colour(const unsigned char *bytes, size_t size, const char *name,
                                    cvtm_image *image, cvtm_error *error) {
  const cvtm_image_source source = {.bytes = bytes, .size = size, .name = name, .with_rgb = 1};
  return parse_image(&source, image, error);
}

static cvtm_status read_image(const char *path, int with_rgb, cvtm_image *image,
                              cvtm_error *error) {
  const size_t limit = (size_t)256 << 30; /* a float for each of 262144 x 262144 pixels */
  *image = (cvtm_image){0};
  unsigned char *bytes = NULL;
  size_t size = 0;
  cvtm_status status = cvtm_file_read(path, limit, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  const cvtm_image_source source = {bytes, size, name, &bytes, with_rgb};
  status = parse_image(&source, image, error);
  free(bytes);
  return status;
}

cvtm_status cvtm_image_read(const char *path, cvtm_image *image, cvtm_error *error) {
  return read_image(path, 0, image, error);
}

cvtm_status cvtm_image_read_colour(const char *path, cvtm_image *image, cvtm_error *error) {
  return read_image(path, 1, image, error);
}
