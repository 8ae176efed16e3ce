/* WebP by libwebp: a still picture, or the first frame of an animation, transparent where it does
 * not cover the canvas. */
#include "base/file.h"
#include "density/pictures/image_pixels.h"

#if CVTMESH_HAVE_WEBP

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

typedef struct webp_reader {
  const cvtm_image_source *source;
  WebPDemuxer *file;
  WebPIterator frame;
  WebPChunkIterator profile;
  int width, height; /* of the canvas */
  uint8_t *rgba;     /* of the frame */
  unsigned char *row;
  cvtm_pixels pixels;
} webp_reader;

static cvtm_status bad_webp(const webp_reader *r, const char *reason, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad WebP: %s", r->source->name, reason);
}

static cvtm_status open_webp(webp_reader *r, cvtm_error *error) {
  const WebPData data = {r->source->bytes, r->source->size};
  r->file = WebPDemux(&data);
  if (r->file == NULL) return bad_webp(r, "truncated or damaged", error);
  const uint32_t width = WebPDemuxGetI(r->file, WEBP_FF_CANVAS_WIDTH);
  const uint32_t height = WebPDemuxGetI(r->file, WEBP_FF_CANVAS_HEIGHT);
  cvtm_status status = cvtm_image_check_size(r->source, width, height, error);
  /* The library decodes the whole frame. */
  if (status == CVTM_OK)
    status = cvtm_check_expansion(r->source->name, r->source->size,
                                  (uint64_t)width * height * (sizeof(float) + 4), error);
  if (status != CVTM_OK) return status;
  r->width = (int)width;
  r->height = (int)height;
  if (!WebPDemuxGetFrame(r->file, 1, &r->frame) || !r->frame.complete)
    return bad_webp(r, "no whole frame", error);
  const WebPIterator *f = &r->frame;
  if (f->x_offset < 0 || f->y_offset < 0 || f->width > r->width - f->x_offset ||
      f->height > r->height - f->y_offset)
    return bad_webp(r, "a frame beyond the canvas", error);
  return CVTM_OK;
}

static cvtm_status decode_frame(webp_reader *r, cvtm_error *error) {
  int width = 0, height = 0;
  r->rgba = WebPDecodeRGBA(r->frame.fragment.bytes, r->frame.fragment.size, &width, &height);
  if (r->rgba == NULL) return bad_webp(r, "cannot be decoded", error);
  if (width != r->frame.width || height != r->frame.height)
    return bad_webp(r, "a frame of another size", error);
  return CVTM_OK;
}

static cvtm_status begin_webp_pixels(webp_reader *r, cvtm_image *image, cvtm_error *error) {
  const int covers = r->frame.width == r->width && r->frame.height == r->height;
  const int with_alpha = r->frame.has_alpha || !covers;
  const cvtm_pixel_layout layout = {.colours = 3,
                                    .alpha = with_alpha ? CVTM_ALPHA_STRAIGHT : CVTM_ALPHA_NONE,
                                    .kind = CVTM_SAMPLES_8,
                                    .max = 255};
  cvtm_colour_source colour = {0};
  if (WebPDemuxGetChunk(r->file, "ICCP", 1, &r->profile)) {
    colour.profile = r->profile.chunk.bytes;
    colour.profile_size = r->profile.chunk.size;
  }
  cvtm_status status =
      cvtm_pixels_begin(r->source, layout, &colour, r->width, r->height, image, &r->pixels, error);
  if (status != CVTM_OK) return status;
  r->row = malloc((size_t)r->width * 4);
  if (r->row != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", r->source->name);
}

static void store_row(const webp_reader *r, int y) {
  const WebPIterator *f = &r->frame;
  const size_t bytes = cvtm_pixel_bytes(&r->pixels.layout);
  const int is_inside = y >= f->y_offset && y < f->y_offset + f->height;
  memset(r->row, 0, (size_t)r->width * bytes);
  for (size_t x = 0; is_inside && x < (size_t)f->width; ++x)
    memcpy(r->row + ((size_t)f->x_offset + x) * bytes,
           r->rgba + ((size_t)(y - f->y_offset) * (size_t)f->width + x) * 4, bytes);
  cvtm_pixels_store(&r->pixels, 0, y, r->width, r->row);
}

static int find_orientation(const webp_reader *r) {
  WebPChunkIterator chunk;
  if (!WebPDemuxGetChunk(r->file, "EXIF", 1, &chunk)) return 1;
  const int orientation = cvtm_exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

cvtm_status cvtm_image_decode_webp(const cvtm_image_source *source, cvtm_image *image,
                                   cvtm_error *error) {
  webp_reader r = {.source = source};
  int orientation = 1;
  cvtm_status status = open_webp(&r, error);
  if (status == CVTM_OK) status = decode_frame(&r, error);
  if (status == CVTM_OK) status = begin_webp_pixels(&r, image, error);
  for (int y = 0; status == CVTM_OK && y < r.height; ++y) store_row(&r, y);
  if (status == CVTM_OK) orientation = find_orientation(&r);
  WebPFree(r.rgba);
  WebPDemuxReleaseChunkIterator(&r.profile);
  WebPDemuxReleaseIterator(&r.frame);
  WebPDemuxDelete(r.file);
  free(r.row);
  cvtm_pixels_end(&r.pixels);
  return status == CVTM_OK ? cvtm_image_orient(source, orientation, image, error) : status;
}

#endif
