#include "density/pictures/image_formats.h"

#include "base/srgb.h"

#include <stdlib.h>
#include <string.h>

static size_t samples_of_pixel(const cvtm_pixel_layout *layout) {
  return (size_t)layout->colours + (layout->alpha != CVTM_ALPHA_NONE);
}

size_t cvtm_pixel_bytes(const cvtm_pixel_layout *layout) {
  return samples_of_pixel(layout) * (layout->kind == CVTM_SAMPLES_8 ? 1 : 2);
}

static int make_tables(cvtm_pixels *pixels) {
  const size_t count = (size_t)pixels->layout.max + 1;
  pixels->linear = malloc(count * sizeof *pixels->linear);
  pixels->narrow = malloc(count * sizeof *pixels->narrow);
  if (pixels->linear == NULL || pixels->narrow == NULL) return 0;
  for (size_t i = 0; i < count; ++i) {
    pixels->linear[i] = cvtm_srgb_to_linear((double)i / (double)pixels->layout.max);
    pixels->narrow[i] = (float)pixels->linear[i];
  }
  return 1;
}

cvtm_status cvtm_pixels_begin(const cvtm_image_source *source, cvtm_pixel_layout layout,
                              const cvtm_colour_source *colour, int width, int height,
                              cvtm_image *image, cvtm_pixels *pixels) {
  *pixels = (cvtm_pixels){.image = image, .layout = layout};
  const int with_alpha = layout.alpha != CVTM_ALPHA_NONE;
  cvtm_status status = cvtm_colour_create(colour, layout.colours, &pixels->colour, NULL);
  pixels->row = malloc((size_t)width * cvtm_pixel_bytes(&layout));
  if (status == CVTM_OK && pixels->row != NULL && make_tables(pixels)) {
    status = cvtm_image_allocate(source, width, height, with_alpha, image);
    if (status != CVTM_OK || !source->with_rgb) return status;
    image->rgb = malloc((size_t)width * (size_t)height * 3 * sizeof *image->rgb);
    if (image->rgb != NULL) return CVTM_OK;
  }
  return cvtm_image_no_memory(source);
}

void cvtm_pixels_end(cvtm_pixels *pixels) {
#pragma omp taskwait
  free(pixels->block[0]);
  free(pixels->block[1]);
  pixels->block[0] = pixels->block[1] = NULL;
  free(pixels->row);
  free(pixels->linear);
  free(pixels->narrow);
  pixels->row = NULL;
  pixels->linear = NULL;
  pixels->narrow = NULL;
  cvtm_colour_destroy(&pixels->colour);
}

static inline unsigned sample_at(const unsigned char *bytes, cvtm_samples_kind kind, size_t index) {
  if (kind == CVTM_SAMPLES_8) return bytes[index];
  if (kind == CVTM_SAMPLES_16_BIG) return cvtm_get_16(bytes + 2 * index, 1);
  uint16_t value;
  memcpy(&value, bytes + 2 * index, sizeof value);
  return value;
}

/* --- sRGB, one pixel --- */

/* Luminance by Rec. 709. A grey keeps its exact value, so that white is 1. */
static inline double luminance_of(const double light[3]) {
  if (light[0] == light[1] && light[1] == light[2]) return light[0];
  const double luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return luminance > 1 ? 1 : luminance;
}

/* Linear light of a colour composited over white, from its samples and alpha in [0, max]. */
static void composite(const cvtm_pixels *pixels, const unsigned colour[3], unsigned alpha,
                      double light[3]) {
  const double max = (double)pixels->layout.max, opaque = (double)alpha / max;
  const int is_multiplied = pixels->layout.alpha == CVTM_ALPHA_MULTIPLIED;
  for (int c = 0; c < 3; ++c) {
    if (is_multiplied) {
      const double encoded = ((double)colour[c] + (max - (double)alpha)) / max;
      light[c] = cvtm_srgb_to_linear(encoded < 1 ? encoded : 1);
    } else if (alpha == pixels->layout.max) {
      light[c] = pixels->linear[colour[c]];
    } else {
      light[c] =
          alpha == 0 ? 1 : cvtm_srgb_to_linear(opaque * ((double)colour[c] / max) + (1 - opaque));
    }
  }
}

/* Computes linear light from inks: an encoded colour is the part of the light that its ink leaves,
 * times the part that black leaves. */
static void mix_inks(const cvtm_pixels *pixels, const unsigned ink[4], double light[3]) {
  const unsigned max = pixels->layout.max;
  double part[4];
  for (int i = 0; i < 4; ++i)
    part[i] = (double)(pixels->layout.is_light ? ink[i] : max - ink[i]) / (double)max;
  for (int i = 0; i < 3; ++i) light[i] = cvtm_srgb_to_linear(part[i] * part[3]);
}

static void store_pixel(const cvtm_pixels *pixels, size_t target, const double light[3]) {
  cvtm_image *image = pixels->image;
  image->value[target] = (float)luminance_of(light);
  if (image->rgb == NULL) return;
  const size_t plane = (size_t)image->width * (size_t)image->height;
  for (size_t c = 0; c < 3; ++c) image->rgb[c * plane + target] = (float)light[c];
}

/* --- Rows --- */

static void store_any(const cvtm_pixels *pixels, size_t target, size_t count,
                      const unsigned char *samples) {
  const cvtm_pixel_layout *layout = &pixels->layout;
  const size_t colours = (size_t)layout->colours, stride = samples_of_pixel(layout);
  for (size_t i = 0; i < count; ++i) {
    unsigned colour[4] = {0}, alpha = layout->max;
    for (size_t c = 0; c < colours; ++c)
      colour[c] = sample_at(samples, layout->kind, i * stride + c);
    if (colours == 1) colour[1] = colour[2] = colour[0];
    if (layout->alpha != CVTM_ALPHA_NONE) {
      alpha = sample_at(samples, layout->kind, i * stride + colours);
      pixels->image->alpha[target + i] = (float)((double)alpha / (double)layout->max);
    }
    double light[3];
    if (colours == 4)
      mix_inks(pixels, colour, light);
    else
      composite(pixels, colour, alpha, light);
    store_pixel(pixels, target + i, light);
  }
}

/* Stores the luminance of opaque rows. `kind` is a constant in every call, for the compiler. */
static inline void store_opaque(const cvtm_pixels *pixels, size_t target, size_t count,
                                const unsigned char *samples, cvtm_samples_kind kind) {
  float *value = pixels->image->value + target;
  if (pixels->layout.colours == 1) {
    for (size_t i = 0; i < count; ++i) value[i] = pixels->narrow[sample_at(samples, kind, i)];
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const double light[3] = {pixels->linear[sample_at(samples, kind, 3 * i)],
                             pixels->linear[sample_at(samples, kind, 3 * i + 1)],
                             pixels->linear[sample_at(samples, kind, 3 * i + 2)]};
    value[i] = (float)luminance_of(light);
  }
}

/* --- Other colours than sRGB --- */

static inline uint16_t to_16_bits(unsigned value, unsigned max) {
  return (uint16_t)(max == 65535 ? value : (value * 65535 + max / 2) / max);
}

/* Composites encoded colours over white, as 16 bits; white is 0 for inks. */
static void widen_pixels(const cvtm_pixels *pixels, size_t target, size_t count,
                         const unsigned char *samples, uint16_t *wide) {
  const cvtm_pixel_layout *layout = &pixels->layout;
  const size_t colours = (size_t)layout->colours, stride = samples_of_pixel(layout);
  const unsigned full = 65535, white = colours == 4 ? 0 : full;
  for (size_t i = 0; i < count; ++i) {
    unsigned alpha = full;
    if (layout->alpha != CVTM_ALPHA_NONE) {
      const unsigned sample = sample_at(samples, layout->kind, i * stride + colours);
      pixels->image->alpha[target + i] = (float)((double)sample / (double)layout->max);
      alpha = to_16_bits(sample, layout->max);
    }
    for (size_t c = 0; c < colours; ++c) {
      uint64_t value = to_16_bits(sample_at(samples, layout->kind, i * stride + c), layout->max);
      if (colours == 4 && layout->is_light) value = full - value;
      uint64_t behind = (uint64_t)white * (full - alpha);
      value = layout->alpha == CVTM_ALPHA_MULTIPLIED ? value + behind / full
                                                     : (value * alpha + behind + full / 2) / full;
      wide[i * colours + c] = (uint16_t)(value < full ? value : full);
    }
  }
}

static inline double clamped(double light) { return !(light > 0) ? 0 : light < 1 ? light : 1; }

static void store_managed(const cvtm_pixels *pixels, size_t target, size_t count,
                          const unsigned char *samples) {
  enum { BLOCK = 256 };
  const size_t bytes = cvtm_pixel_bytes(&pixels->layout);
  uint16_t wide[4 * BLOCK];
  float light[3 * BLOCK];
  for (size_t start = 0; start < count; start += BLOCK) {
    const size_t part = count - start < BLOCK ? count - start : BLOCK;
    widen_pixels(pixels, target + start, part, samples + start * bytes, wide);
    cvtm_colour_light(&pixels->colour, wide, part, light);
    for (size_t i = 0; i < part; ++i) {
      double rgb[3];
      for (size_t c = 0; c < 3; ++c) rgb[c] = (double)light[3 * i + c];
      pixels->image->value[target + start + i] = (float)clamped(luminance_of(rgb));
      if (pixels->image->rgb == NULL) continue;
      const size_t plane = (size_t)pixels->image->width * (size_t)pixels->image->height;
      for (size_t c = 0; c < 3; ++c)
        pixels->image->rgb[c * plane + target + start + i] = (float)clamped(rgb[c]);
    }
  }
}

void cvtm_pixels_store(const cvtm_pixels *pixels, int x, int y, int count, const void *samples) {
  const cvtm_pixel_layout *layout = &pixels->layout;
  const size_t target = (size_t)y * (size_t)pixels->image->width + (size_t)x;
  if (pixels->colour.kind != CVTM_COLOUR_SRGB)
    store_managed(pixels, target, (size_t)count, samples);
  else if (layout->alpha != CVTM_ALPHA_NONE || layout->colours == 4 || pixels->image->rgb != NULL)
    store_any(pixels, target, (size_t)count, samples);
  else if (layout->kind == CVTM_SAMPLES_8)
    store_opaque(pixels, target, (size_t)count, samples, CVTM_SAMPLES_8);
  else if (layout->kind == CVTM_SAMPLES_16)
    store_opaque(pixels, target, (size_t)count, samples, CVTM_SAMPLES_16);
  else
    store_opaque(pixels, target, (size_t)count, samples, CVTM_SAMPLES_16_BIG);
}

/* --- Rows in blocks --- */

static size_t row_bytes(const cvtm_pixels *pixels) {
  return (size_t)pixels->image->width * cvtm_pixel_bytes(&pixels->layout);
}

cvtm_status cvtm_pixels_begin_rows(const cvtm_image_source *source, cvtm_pixels *pixels) {
  const size_t wanted = (size_t)1 << 19; /* a block of this many bytes fits into a cache */
  const size_t rows = wanted / row_bytes(pixels) + 1, height = (size_t)pixels->image->height;
  pixels->block_rows = (int)(rows < height ? rows : height);
  for (int k = 0; k < 2; ++k)
    pixels->block[k] = malloc((size_t)pixels->block_rows * row_bytes(pixels));
  if (pixels->block[0] != NULL && pixels->block[1] != NULL) return CVTM_OK;
  return cvtm_image_no_memory(source);
}

static void store_rows(const cvtm_pixels *pixels, int first, int end,
                       const unsigned char *samples) {
  const size_t bytes = row_bytes(pixels);
  for (int y = first; y < end; ++y)
    cvtm_pixels_store(pixels, 0, y, pixels->image->width, samples + (size_t)(y - first) * bytes);
}

void cvtm_pixels_store_rows(const cvtm_pixels *pixels, int first, int end,
                            const unsigned char *samples) {
  enum { TASKS = 8 };
  const int step = (end - first) / TASKS + 1;
  const size_t bytes = row_bytes(pixels);
  const cvtm_pixels own = *pixels; /* a copy, because the caller exchanges its blocks */
  for (int y = first; y < end; y += step) {
    const int stop = end - y < step ? end : y + step;
    const unsigned char *part = samples + (size_t)(y - first) * bytes;
#pragma omp task firstprivate(own, y, stop, part)
    store_rows(&own, y, stop, part);
  }
}

/* Waits for the tasks of the other block, then starts tasks that store the rows before `end` of
 * this block. */
static void hand_over(cvtm_pixels *pixels, int end) {
  unsigned char *filled = pixels->block[0];
#pragma omp taskwait
  cvtm_pixels_store_rows(pixels, pixels->first, end, filled);
  pixels->block[0] = pixels->block[1];
  pixels->block[1] = filled;
  pixels->first = end;
}

unsigned char *cvtm_pixels_row(cvtm_pixels *pixels, int y) {
  if (y == pixels->first + pixels->block_rows) hand_over(pixels, y);
  return pixels->block[0] + (size_t)(y - pixels->first) * row_bytes(pixels);
}

void cvtm_pixels_finish_rows(cvtm_pixels *pixels) {
  hand_over(pixels, pixels->image->height);
#pragma omp taskwait
}
