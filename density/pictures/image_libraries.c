/* Formats that a build reads if it has their library: GIF, WebP, HEIC and AVIF. */
#include "base/file.h"
#include "base/shared_library.h"
#include "density/pictures/image_formats.h"

#include <stdlib.h>
#include <string.h>

/* --- GIF -------------------------------------------------------------------------------------- */
/* The first frame, clipped to the screen; pixels outside the frame are transparent. */

#if CVTMESH_HAVE_GIF
#include <gif_lib.h>

typedef struct gif_reader {
  const cvtm_image_source *source;
  size_t position;
  GifFileType *gif;
  int width, height;    /* size of the screen */
  int transparent;      /* index of the transparent colour; -1: none */
  unsigned char *index; /* indices of the frame, row by row */
  cvtm_pixels pixels;
} gif_reader;

static int read_bytes(GifFileType *gif, GifByteType *target, int count) {
  gif_reader *r = gif->UserData;
  const size_t left = r->source->size - r->position;
  const size_t got = (size_t)count < left ? (size_t)count : left;
  memcpy(target, r->source->bytes + r->position, got);
  r->position += got;
  return (int)got;
}

static cvtm_status bad_gif(const gif_reader *r, int code) {
  const char *reason = GifErrorString(code);
  return cvtm_image_fail(r->source, "bad GIF: %s", reason != NULL ? reason : "cannot be decoded");
}

/* Reads an extension, which may give the transparent colour of the next frame. */
static int read_extension(gif_reader *r) {
  int code;
  GifByteType *block;
  if (DGifGetExtension(r->gif, &code, &block) != GIF_OK) return 0;
  while (block != NULL) {
    GraphicsControlBlock control;
    if (code == GRAPHICS_EXT_FUNC_CODE &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
      r->transparent = control.TransparentColor;
    if (DGifGetExtensionNext(r->gif, &block) != GIF_OK) return 0;
  }
  return 1;
}

/* Moves to the first frame. */
static cvtm_status find_frame(gif_reader *r) {
  for (;;) {
    GifRecordType kind;
    if (DGifGetRecordType(r->gif, &kind) != GIF_OK) return bad_gif(r, r->gif->Error);
    if (kind == TERMINATE_RECORD_TYPE) return cvtm_image_fail(r->source, "bad GIF: no frame");
    if (kind == EXTENSION_RECORD_TYPE && !read_extension(r)) return bad_gif(r, r->gif->Error);
    if (kind != IMAGE_DESC_RECORD_TYPE) continue;
    return DGifGetImageDesc(r->gif) == GIF_OK ? CVTM_OK : bad_gif(r, r->gif->Error);
  }
}

/* Checks the sizes. A screen of width 0 ends at the right end of the frame; a screen of height 0
 * ends at its lower end. */
static cvtm_status check_frame(gif_reader *r) {
  const GifImageDesc *frame = &r->gif->Image;
  const uint64_t largest_ratio = 4096; /* LZW with codes of 12 bits expands no further */
  r->width = r->gif->SWidth > 0 ? r->gif->SWidth : frame->Left + frame->Width;
  r->height = r->gif->SHeight > 0 ? r->gif->SHeight : frame->Top + frame->Height;
  CVTM_TRY(cvtm_image_check_size(r->source, (uint64_t)frame->Width, (uint64_t)frame->Height));
  CVTM_TRY(cvtm_image_check_ratio(r->source, (uint64_t)frame->Width * (uint64_t)frame->Height,
                                  largest_ratio));
  /* checked too, because the screen outside the frame takes no bytes of the file */
  return cvtm_image_check_ratio(r->source, (uint64_t)r->width * (uint64_t)r->height, largest_ratio);
}

static int covers_screen(const gif_reader *r) {
  const GifImageDesc *frame = &r->gif->Image;
  return frame->Left == 0 && frame->Top == 0 && frame->Width >= r->width &&
         frame->Height >= r->height;
}

static const ColorMapObject *colour_map(const GifFileType *gif) {
  return gif->Image.ColorMap != NULL ? gif->Image.ColorMap : gif->SColorMap;
}

static cvtm_status begin_gif_pixels(gif_reader *r, cvtm_image *image) {
  const int with_alpha = r->transparent >= 0 || !covers_screen(r);
  const cvtm_pixel_layout layout = {.colours = 3,
                                    .alpha = with_alpha ? CVTM_ALPHA_STRAIGHT : CVTM_ALPHA_NONE,
                                    .kind = CVTM_SAMPLES_8,
                                    .max = 255};
  CVTM_TRY(cvtm_pixels_begin(r->source, layout, NULL, r->width, r->height, image, &r->pixels));
  r->index = malloc((size_t)r->gif->Image.Width * (size_t)r->gif->Image.Height);
  return r->index != NULL ? CVTM_OK : cvtm_image_no_memory(r->source);
}

/* Reads the rows of the frame; interlaced rows come in four passes. */
static cvtm_status read_frame(gif_reader *r) {
  static const int first[4] = {0, 4, 2, 1}, step[4] = {8, 8, 4, 2};
  const GifImageDesc *frame = &r->gif->Image;
  const int passes = frame->Interlace ? 4 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = first[pass]; y < frame->Height; y += frame->Interlace ? step[pass] : 1) {
      unsigned char *line = r->index + (size_t)y * (size_t)frame->Width;
      if (DGifGetLine(r->gif, line, frame->Width) != GIF_OK) return bad_gif(r, r->gif->Error);
    }
  }
  return CVTM_OK;
}

static void store_gif_row(const gif_reader *r, int y) {
  const GifImageDesc *frame = &r->gif->Image;
  const ColorMapObject *map = colour_map(r->gif);
  const size_t bytes = cvtm_pixel_bytes(&r->pixels.layout);
  const int right = r->width - frame->Left, columns = frame->Width < right ? frame->Width : right;
  unsigned char *row = memset(r->pixels.row, 0, (size_t)r->width * bytes);
  for (int x = 0; y >= frame->Top && y < frame->Top + frame->Height && x < columns; ++x) {
    const int index = r->index[(size_t)(y - frame->Top) * (size_t)frame->Width + (size_t)x];
    unsigned char *p = row + (size_t)(frame->Left + x) * bytes;
    if (index < map->ColorCount) {
      p[0] = map->Colors[index].Red;
      p[1] = map->Colors[index].Green;
      p[2] = map->Colors[index].Blue;
    }
    if (bytes == 4) p[3] = index == r->transparent ? 0 : 255;
  }
  cvtm_pixels_store(&r->pixels, 0, y, r->width, row);
}

static cvtm_status read_gif(gif_reader *r, cvtm_image *image) {
  CVTM_TRY(find_frame(r));
  CVTM_TRY(check_frame(r));
  if (colour_map(r->gif) == NULL) return cvtm_image_fail(r->source, "bad GIF: no colours");
  CVTM_TRY(begin_gif_pixels(r, image));
  CVTM_TRY(read_frame(r));
  for (int y = 0; y < r->height; ++y) store_gif_row(r, y);
  return CVTM_OK;
}

cvtm_status cvtm_image_decode_gif(const cvtm_image_source *source, cvtm_image *image) {
  gif_reader r = {.source = source, .transparent = -1};
  int code = 0;
  r.gif = DGifOpen(&r, read_bytes, &code);
  if (r.gif == NULL) return bad_gif(&r, code);
  cvtm_status status = read_gif(&r, image);
  DGifCloseFile(r.gif, &code);
  free(r.index);
  cvtm_pixels_end(&r.pixels);
  return status;
}

#endif

/* --- WebP ------------------------------------------------------------------------------------- */
/* A still picture, or the first frame of an animation; pixels outside the frame are transparent. */

#if CVTMESH_HAVE_WEBP
#include <webp/decode.h>
#include <webp/demux.h>

typedef struct webp_reader {
  const cvtm_image_source *source;
  WebPDemuxer *file;
  WebPIterator frame;
  WebPChunkIterator profile;
  int width, height; /* size of the canvas */
  uint8_t *rgba;     /* pixels of the frame */
  cvtm_pixels pixels;
} webp_reader;

static cvtm_status open_webp(webp_reader *r) {
  const WebPData data = {r->source->bytes, r->source->size};
  r->file = WebPDemux(&data);
  if (r->file == NULL) return cvtm_image_fail(r->source, "bad WebP: truncated or damaged");
  const uint32_t width = WebPDemuxGetI(r->file, WEBP_FF_CANVAS_WIDTH);
  const uint32_t height = WebPDemuxGetI(r->file, WEBP_FF_CANVAS_HEIGHT);
  CVTM_TRY(cvtm_image_check_size(r->source, width, height));
  /* the library decodes the frame at once */
  CVTM_TRY(cvtm_check_expansion(r->source->name, r->source->size,
                                (uint64_t)width * height * (sizeof(float) + 4), r->source->error));
  r->width = (int)width;
  r->height = (int)height;
  if (!WebPDemuxGetFrame(r->file, 1, &r->frame) || !r->frame.complete)
    return cvtm_image_fail(r->source, "bad WebP: no complete frame");
  const WebPIterator *f = &r->frame;
  if (f->x_offset < 0 || f->y_offset < 0 || f->width > r->width - f->x_offset ||
      f->height > r->height - f->y_offset)
    return cvtm_image_fail(r->source, "bad WebP: a frame beyond the canvas");
  return CVTM_OK;
}

static cvtm_status decode_frame(webp_reader *r) {
  int width = 0, height = 0;
  r->rgba = WebPDecodeRGBA(r->frame.fragment.bytes, r->frame.fragment.size, &width, &height);
  if (r->rgba == NULL) return cvtm_image_fail(r->source, "bad WebP: cannot be decoded");
  if (width != r->frame.width || height != r->frame.height)
    return cvtm_image_fail(r->source, "bad WebP: a frame of another size");
  return CVTM_OK;
}

static cvtm_status begin_webp_pixels(webp_reader *r, cvtm_image *image) {
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
  return cvtm_pixels_begin(r->source, layout, &colour, r->width, r->height, image, &r->pixels);
}

static void store_webp_row(const webp_reader *r, int y) {
  const WebPIterator *f = &r->frame;
  const size_t bytes = cvtm_pixel_bytes(&r->pixels.layout);
  const int is_inside = y >= f->y_offset && y < f->y_offset + f->height;
  unsigned char *row = memset(r->pixels.row, 0, (size_t)r->width * bytes);
  for (size_t x = 0; is_inside && x < (size_t)f->width; ++x)
    memcpy(row + ((size_t)f->x_offset + x) * bytes,
           r->rgba + ((size_t)(y - f->y_offset) * (size_t)f->width + x) * 4, bytes);
  cvtm_pixels_store(&r->pixels, 0, y, r->width, row);
}

static int find_orientation(const webp_reader *r) {
  WebPChunkIterator chunk;
  if (!WebPDemuxGetChunk(r->file, "EXIF", 1, &chunk)) return 1;
  const int orientation = cvtm_exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

cvtm_status cvtm_image_decode_webp(const cvtm_image_source *source, cvtm_image *image) {
  webp_reader r = {.source = source};
  int orientation = 1;
  cvtm_status status = open_webp(&r);
  if (status == CVTM_OK) status = decode_frame(&r);
  if (status == CVTM_OK) status = begin_webp_pixels(&r, image);
  for (int y = 0; status == CVTM_OK && y < r.height; ++y) store_webp_row(&r, y);
  if (status == CVTM_OK) orientation = find_orientation(&r);
  WebPFree(r.rgba);
  WebPDemuxReleaseChunkIterator(&r.profile);
  WebPDemuxReleaseIterator(&r.frame);
  WebPDemuxDelete(r.file);
  cvtm_pixels_end(&r.pixels);
  return status == CVTM_OK ? cvtm_image_orient(source, orientation, image) : status;
}

#endif

/* --- HEIC and AVIF ---------------------------------------------------------------------------- */
/* libheif also rotates the picture by the orientation in the file. */

#if CVTMESH_HAVE_HEIF
#include <libheif/heif.h>

/* clang-format off */
#define FUNCTIONS(X) \
  X(context_alloc) X(context_read_from_memory_without_copy) X(context_get_primary_image_handle) \
  X(context_free) X(image_handle_get_width) X(image_handle_get_height) \
  X(image_handle_get_color_profile_type) X(image_handle_get_raw_color_profile_size) \
  X(image_handle_get_raw_color_profile) X(image_handle_get_nclx_color_profile) \
  X(image_handle_has_alpha_channel) X(image_handle_is_premultiplied_alpha) \
  X(image_handle_get_luma_bits_per_pixel) X(image_handle_release) X(nclx_color_profile_free) \
  X(decode_image) X(image_get_plane_readonly) X(image_get_bits_per_pixel_range) \
  X(image_get_width) X(image_get_height) X(image_release)
/* clang-format on */
#define POINTER(name) __typeof__(heif_##name) *(name);
#define NAME(name) "heif_" #name "\0"
/* libheif, which takes as long to load as short commands run. */
static struct {
  void *library;
  FUNCTIONS(POINTER)
} heif;

typedef struct heif_picture {
  const cvtm_image_source *source;
  struct heif_context *context;
  struct heif_image_handle *handle;
  struct heif_image *decoded;
  unsigned char *profile; /* malloc'd */
  cvtm_pixels pixels;
} heif_picture;

static cvtm_status check_heif(const heif_picture *r, struct heif_error result) {
  if (result.code == heif_error_Ok) return CVTM_OK;
  if (result.code == heif_error_Memory_allocation_error &&
      result.subcode != heif_suberror_Security_limit_exceeded)
    return cvtm_image_no_memory(r->source);
  const int length = (int)strcspn(result.message, "\n"); /* some messages end with a newline */
  return cvtm_image_fail(r->source, "bad HEIF: %.*s", length, result.message);
}

static cvtm_status open_heif(heif_picture *r) {
  r->context = heif.context_alloc();
  if (r->context == NULL) return cvtm_image_no_memory(r->source);
  CVTM_TRY(check_heif(r, heif.context_read_from_memory_without_copy(r->context, r->source->bytes,
                                                                    r->source->size, NULL)));
  CVTM_TRY(check_heif(r, heif.context_get_primary_image_handle(r->context, &r->handle)));
  const int width = heif.image_handle_get_width(r->handle);
  const int height = heif.image_handle_get_height(r->handle);
  CVTM_TRY(cvtm_image_check_size(r->source, width > 0 ? (uint64_t)width : 0,
                                 height > 0 ? (uint64_t)height : 0));
  /* the library decodes the picture at once, into its own planes and then into RGBA */
  return cvtm_check_expansion(r->source->name, r->source->size,
                              (uint64_t)width * (uint64_t)height * (sizeof(float) + 4 + 4),
                              r->source->error);
}

static cvtm_status decode_pixels(heif_picture *r, int with_alpha, int is_wide) {
  const enum heif_chroma chroma =
      is_wide
          ? (with_alpha ? heif_chroma_interleaved_RRGGBBAA_BE : heif_chroma_interleaved_RRGGBB_BE)
          : (with_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB);
  return check_heif(r,
                    heif.decode_image(r->handle, &r->decoded, heif_colorspace_RGB, chroma, NULL));
}

/* Uses a profile if there is one, else code points. */
static cvtm_status find_colour(heif_picture *r, cvtm_colour_source *colour) {
  const enum heif_color_profile_type kind = heif.image_handle_get_color_profile_type(r->handle);
  struct heif_color_profile_nclx *codes = NULL;
  if (kind == heif_color_profile_type_prof || kind == heif_color_profile_type_rICC) {
    colour->profile_size = heif.image_handle_get_raw_color_profile_size(r->handle);
    r->profile = malloc(colour->profile_size + 1);
    if (r->profile == NULL) return cvtm_image_no_memory(r->source);
    if (heif.image_handle_get_raw_color_profile(r->handle, r->profile).code == heif_error_Ok)
      colour->profile = r->profile;
  } else {
    colour->has_codes =
        heif.image_handle_get_nclx_color_profile(r->handle, &codes).code == heif_error_Ok &&
        codes != NULL;
    if (colour->has_codes) {
      colour->primaries = (int)codes->color_primaries;
      colour->transfer = (int)codes->transfer_characteristics;
    }
    heif.nclx_color_profile_free(codes);
  }
  return CVTM_OK;
}

static cvtm_status store_rows(heif_picture *r, size_t samples, int is_wide) {
  int stride = 0;
  const uint8_t *plane =
      heif.image_get_plane_readonly(r->decoded, heif_channel_interleaved, &stride);
  const size_t width = (size_t)r->pixels.image->width;
  if (plane == NULL || stride < 0 || (size_t)stride < width * samples * (is_wide ? 2 : 1))
    return cvtm_image_fail(r->source, "bad HEIF: no pixels");
  const unsigned max = r->pixels.layout.max;
  uint16_t *row = r->pixels.row;
  for (int y = 0; y < r->pixels.image->height; ++y) {
    const uint8_t *line = plane + (size_t)y * (size_t)stride;
    for (size_t k = 0; is_wide && k < width * samples; ++k) {
      const unsigned value = cvtm_get_16(line + 2 * k, 1);
      row[k] = (uint16_t)(value < max ? value : max);
    }
    cvtm_pixels_store(&r->pixels, 0, y, (int)width, is_wide ? (const void *)row : line);
  }
  return CVTM_OK;
}

static cvtm_status read_heif(heif_picture *r, cvtm_image *image) {
  cvtm_colour_source colour = {0};
  CVTM_TRY(open_heif(r));
  const int with_alpha = heif.image_handle_has_alpha_channel(r->handle);
  const int is_wide = heif.image_handle_get_luma_bits_per_pixel(r->handle) > 8;
  CVTM_TRY(decode_pixels(r, with_alpha, is_wide));
  CVTM_TRY(find_colour(r, &colour));
  const int bits = heif.image_get_bits_per_pixel_range(r->decoded, heif_channel_interleaved);
  const int width = heif.image_get_width(r->decoded, heif_channel_interleaved);
  const int height = heif.image_get_height(r->decoded, heif_channel_interleaved);
  if (width < 1 || height < 1 || bits < 8 || bits > 16 || (bits > 8) != is_wide)
    return cvtm_image_fail(r->source, "HEIF with %d bits is not supported", bits);
  CVTM_TRY(cvtm_image_check_size(r->source, (uint64_t)width, (uint64_t)height));
  const cvtm_pixel_layout layout = {.colours = 3,
                                    .alpha = !with_alpha ? CVTM_ALPHA_NONE
                                             : heif.image_handle_is_premultiplied_alpha(r->handle)
                                                 ? CVTM_ALPHA_MULTIPLIED
                                                 : CVTM_ALPHA_STRAIGHT,
                                    .kind = is_wide ? CVTM_SAMPLES_16 : CVTM_SAMPLES_8,
                                    .max = (1u << bits) - 1};
  CVTM_TRY(cvtm_pixels_begin(r->source, layout, &colour, width, height, image, &r->pixels));
  return store_rows(r, with_alpha ? 4 : 3, is_wide);
}

cvtm_status cvtm_image_decode_heif(const cvtm_image_source *source, cvtm_image *image) {
  heif_picture r = {.source = source};
  const char *missing = cvtm_library_load(CVTMESH_HEIF_FILE "\0", FUNCTIONS(NAME), &heif);
  if (missing != NULL)
    return cvtm_fail(source->error, CVTM_ERROR_UNSUPPORTED, "%s: %s", source->name, missing);
  cvtm_status status = read_heif(&r, image);
  if (r.decoded != NULL) heif.image_release(r.decoded);
  if (r.handle != NULL) heif.image_handle_release(r.handle);
  if (r.context != NULL) heif.context_free(r.context);
  free(r.profile);
  cvtm_pixels_end(&r.pixels);
  return status;
}

#endif
