/* HEIC and AVIF by libheif, which also turns the picture as the file says. */
#include "base/file.h"
#include "density/pictures/image_pixels.h"

#if CVTMESH_HAVE_HEIF

#include <stdlib.h>
#include <string.h>

#include <libheif/heif.h>

typedef struct heif_picture {
  const cvtm_image_source *source;
  struct heif_context *context;
  struct heif_image_handle *handle;
  struct heif_image *decoded;
  unsigned char *profile; /* malloc'd */
  uint16_t *row;          /* of samples of more than 8 bits */
  cvtm_pixels pixels;
} heif_picture;

static cvtm_status check_heif(const heif_picture *r, struct heif_error result, cvtm_error *error) {
  if (result.code == heif_error_Ok) return CVTM_OK;
  if (result.code == heif_error_Memory_allocation_error &&
      result.subcode != heif_suberror_Security_limit_exceeded)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", r->source->name);
  const int length = (int)strcspn(result.message, "\n"); /* some end with a line */
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad HEIF: %.*s", r->source->name, length,
                   result.message);
}

static cvtm_status open_heif(heif_picture *r, cvtm_error *error) {
  r->context = heif_context_alloc();
  if (r->context == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", r->source->name);
  cvtm_status status = check_heif(r,
                                  heif_context_read_from_memory_without_copy(
                                      r->context, r->source->bytes, r->source->size, NULL),
                                  error);
  if (status == CVTM_OK)
    status = check_heif(r, heif_context_get_primary_image_handle(r->context, &r->handle), error);
  if (status != CVTM_OK) return status;
  const int width = heif_image_handle_get_width(r->handle);
  const int height = heif_image_handle_get_height(r->handle);
  status = cvtm_image_check_size(r->source, width > 0 ? (uint64_t)width : 0,
                                 height > 0 ? (uint64_t)height : 0, error);
  /* The library decodes the whole picture, to its own planes and to RGBA. */
  if (status == CVTM_OK)
    status =
        cvtm_check_expansion(r->source->name, r->source->size,
                             (uint64_t)width * (uint64_t)height * (sizeof(float) + 4 + 4), error);
  return status;
}

static cvtm_status decode_pixels(heif_picture *r, int with_alpha, int is_wide, cvtm_error *error) {
  const enum heif_chroma chroma =
      is_wide
          ? (with_alpha ? heif_chroma_interleaved_RRGGBBAA_BE : heif_chroma_interleaved_RRGGBB_BE)
          : (with_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB);
  return check_heif(r, heif_decode_image(r->handle, &r->decoded, heif_colorspace_RGB, chroma, NULL),
                    error);
}

/* A profile, else code points. */
static cvtm_status find_colour(heif_picture *r, cvtm_colour_source *colour, cvtm_error *error) {
  const enum heif_color_profile_type kind = heif_image_handle_get_color_profile_type(r->handle);
  struct heif_color_profile_nclx *codes = NULL;
  if (kind == heif_color_profile_type_prof || kind == heif_color_profile_type_rICC) {
    colour->profile_size = heif_image_handle_get_raw_color_profile_size(r->handle);
    r->profile = malloc(colour->profile_size + 1);
    if (r->profile == NULL)
      return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", r->source->name);
    if (heif_image_handle_get_raw_color_profile(r->handle, r->profile).code == heif_error_Ok)
      colour->profile = r->profile;
  } else {
    colour->has_codes =
        heif_image_handle_get_nclx_color_profile(r->handle, &codes).code == heif_error_Ok &&
        codes != NULL;
    if (colour->has_codes) {
      colour->primaries = (int)codes->color_primaries;
      colour->transfer = (int)codes->transfer_characteristics;
    }
    heif_nclx_color_profile_free(codes);
  }
  return CVTM_OK;
}

static cvtm_status store_rows(heif_picture *r, size_t samples, int is_wide, cvtm_error *error) {
  int stride = 0;
  const uint8_t *plane =
      heif_image_get_plane_readonly(r->decoded, heif_channel_interleaved, &stride);
  const size_t width = (size_t)r->pixels.image->width;
  if (plane == NULL || stride < 0 || (size_t)stride < width * samples * (is_wide ? 2 : 1))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad HEIF: no pixels", r->source->name);
  const unsigned max = r->pixels.layout.max;
  for (int y = 0; y < r->pixels.image->height; ++y) {
    const uint8_t *line = plane + (size_t)y * (size_t)stride;
    for (size_t k = 0; is_wide && k < width * samples; ++k) {
      const unsigned value = (unsigned)line[2 * k] << 8 | line[2 * k + 1];
      r->row[k] = (uint16_t)(value < max ? value : max);
    }
    cvtm_pixels_store(&r->pixels, 0, y, (int)width, is_wide ? (const void *)r->row : line);
  }
  return CVTM_OK;
}

static cvtm_status read_picture(heif_picture *r, cvtm_image *image, cvtm_error *error) {
  cvtm_colour_source colour = {0};
  cvtm_status status = open_heif(r, error);
  if (status != CVTM_OK) return status;
  const int with_alpha = heif_image_handle_has_alpha_channel(r->handle);
  const int is_wide = heif_image_handle_get_luma_bits_per_pixel(r->handle) > 8;
  status = decode_pixels(r, with_alpha, is_wide, error);
  if (status == CVTM_OK) status = find_colour(r, &colour, error);
  if (status != CVTM_OK) return status;
  const int bits = heif_image_get_bits_per_pixel_range(r->decoded, heif_channel_interleaved);
  const int width = heif_image_get_width(r->decoded, heif_channel_interleaved);
  const int height = heif_image_get_height(r->decoded, heif_channel_interleaved);
  if (width < 1 || height < 1 || bits < 8 || bits > 16 || (bits > 8) != is_wide)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: HEIF of %d bits is not read", r->source->name,
                     bits);
  status = cvtm_image_check_size(r->source, (uint64_t)width, (uint64_t)height, error);
  if (status != CVTM_OK) return status;
  const cvtm_pixel_layout layout = {.colours = 3,
                                    .alpha = !with_alpha ? CVTM_ALPHA_NONE
                                             : heif_image_handle_is_premultiplied_alpha(r->handle)
                                                 ? CVTM_ALPHA_MULTIPLIED
                                                 : CVTM_ALPHA_STRAIGHT,
                                    .kind = is_wide ? CVTM_SAMPLES_16 : CVTM_SAMPLES_8,
                                    .max = (1u << bits) - 1};
  status = cvtm_pixels_begin(r->source, layout, &colour, width, height, image, &r->pixels, error);
  if (status != CVTM_OK) return status;
  const size_t samples = with_alpha ? 4 : 3;
  if (is_wide) r->row = malloc((size_t)width * samples * sizeof *r->row);
  if (is_wide && r->row == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", r->source->name);
  return store_rows(r, samples, is_wide, error);
}

cvtm_status cvtm_image_decode_heif(const cvtm_image_source *source, cvtm_image *image,
                                   cvtm_error *error) {
  heif_picture r = {.source = source};
  cvtm_status status = read_picture(&r, image, error);
  if (r.decoded != NULL) heif_image_release(r.decoded);
  if (r.handle != NULL) heif_image_handle_release(r.handle);
  if (r.context != NULL) heif_context_free(r.context);
  free(r.profile);
  free(r.row);
  cvtm_pixels_end(&r.pixels);
  return status;
}

#endif
