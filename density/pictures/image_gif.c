/* GIF by giflib: the first frame, clipped to the screen, transparent where it does not cover it. */
#include "density/pictures/image_pixels.h"

#if CVTMESH_HAVE_GIF

#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

typedef struct gif_reader {
  const cvtm_image_source *source;
  size_t position;
  GifFileType *gif;
  int width, height;    /* of the screen */
  int transparent;      /* colour; -1: none */
  unsigned char *index; /* of the frame, row by row */
  unsigned char *row;
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

static cvtm_status bad_gif(const gif_reader *r, int code, cvtm_error *error) {
  const char *reason = GifErrorString(code);
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad GIF: %s", r->source->name,
                   reason != NULL ? reason : "cannot be decoded");
}

/* Reads an extension to its end, for the transparent colour of the next frame. */
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
static cvtm_status find_frame(gif_reader *r, cvtm_error *error) {
  for (;;) {
    GifRecordType kind;
    if (DGifGetRecordType(r->gif, &kind) != GIF_OK) return bad_gif(r, r->gif->Error, error);
    if (kind == TERMINATE_RECORD_TYPE)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad GIF: no frame", r->source->name);
    if (kind == EXTENSION_RECORD_TYPE && !read_extension(r))
      return bad_gif(r, r->gif->Error, error);
    if (kind != IMAGE_DESC_RECORD_TYPE) continue;
    return DGifGetImageDesc(r->gif) == GIF_OK ? CVTM_OK : bad_gif(r, r->gif->Error, error);
  }
}

/* A screen without a side has that of the frame. */
static cvtm_status check_frame(gif_reader *r, cvtm_error *error) {
  const GifImageDesc *frame = &r->gif->Image;
  const uint64_t largest_ratio = 4096; /* of LZW with codes of 12 bits */
  r->width = r->gif->SWidth > 0 ? r->gif->SWidth : frame->Left + frame->Width;
  r->height = r->gif->SHeight > 0 ? r->gif->SHeight : frame->Top + frame->Height;
  cvtm_status status =
      cvtm_image_check_size(r->source, (uint64_t)frame->Width, (uint64_t)frame->Height, error);
  if (status == CVTM_OK)
    status = cvtm_image_check_ratio(r->source, (uint64_t)frame->Width * (uint64_t)frame->Height,
                                    largest_ratio, error);
  if (status != CVTM_OK) return status;
  /* A screen beyond the frame costs no bytes. */
  return cvtm_image_check_ratio(r->source, (uint64_t)r->width * (uint64_t)r->height, largest_ratio,
                                error);
}

static int covers_screen(const gif_reader *r) {
  const GifImageDesc *frame = &r->gif->Image;
  return frame->Left == 0 && frame->Top == 0 && frame->Width >= r->width &&
         frame->Height >= r->height;
}

static const ColorMapObject *colour_map(const GifFileType *gif) {
  return gif->Image.ColorMap != NULL ? gif->Image.ColorMap : gif->SColorMap;
}

static cvtm_status begin_gif_pixels(gif_reader *r, cvtm_image *image, cvtm_error *error) {
  const int with_alpha = r->transparent >= 0 || !covers_screen(r);
  const cvtm_pixel_layout layout = {.colours = 3,
                                    .alpha = with_alpha ? CVTM_ALPHA_STRAIGHT : CVTM_ALPHA_NONE,
                                    .kind = CVTM_SAMPLES_8,
                                    .max = 255};
  cvtm_status status =
      cvtm_pixels_begin(r->source, layout, NULL, r->width, r->height, image, &r->pixels, error);
  if (status != CVTM_OK) return status;
  r->index = malloc((size_t)r->gif->Image.Width * (size_t)r->gif->Image.Height);
  r->row = malloc((size_t)r->width * cvtm_pixel_bytes(&layout));
  if (r->index != NULL && r->row != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", r->source->name);
}

/* Interlaced rows come in four passes. */
static cvtm_status read_frame(gif_reader *r, cvtm_error *error) {
  static const int first[4] = {0, 4, 2, 1}, step[4] = {8, 8, 4, 2};
  const GifImageDesc *frame = &r->gif->Image;
  const int passes = frame->Interlace ? 4 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = first[pass]; y < frame->Height; y += frame->Interlace ? step[pass] : 1) {
      unsigned char *line = r->index + (size_t)y * (size_t)frame->Width;
      if (DGifGetLine(r->gif, line, frame->Width) != GIF_OK)
        return bad_gif(r, r->gif->Error, error);
    }
  }
  return CVTM_OK;
}

static void store_row(const gif_reader *r, int y) {
  const GifImageDesc *frame = &r->gif->Image;
  const ColorMapObject *map = colour_map(r->gif);
  const size_t bytes = cvtm_pixel_bytes(&r->pixels.layout);
  const int right = r->width - frame->Left, columns = frame->Width < right ? frame->Width : right;
  memset(r->row, 0, (size_t)r->width * bytes);
  for (int x = 0; y >= frame->Top && y < frame->Top + frame->Height && x < columns; ++x) {
    const int index = r->index[(size_t)(y - frame->Top) * (size_t)frame->Width + (size_t)x];
    unsigned char *p = r->row + (size_t)(frame->Left + x) * bytes;
    if (index < map->ColorCount) {
      p[0] = map->Colors[index].Red;
      p[1] = map->Colors[index].Green;
      p[2] = map->Colors[index].Blue;
    }
    if (bytes == 4) p[3] = index == r->transparent ? 0 : 255;
  }
  cvtm_pixels_store(&r->pixels, 0, y, r->width, r->row);
}

static cvtm_status read_picture(gif_reader *r, cvtm_image *image, cvtm_error *error) {
  cvtm_status status = find_frame(r, error);
  if (status == CVTM_OK) status = check_frame(r, error);
  if (status == CVTM_OK && colour_map(r->gif) == NULL)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad GIF: no colours", r->source->name);
  if (status == CVTM_OK) status = begin_gif_pixels(r, image, error);
  if (status == CVTM_OK) status = read_frame(r, error);
  for (int y = 0; status == CVTM_OK && y < r->height; ++y) store_row(r, y);
  return status;
}

cvtm_status cvtm_image_decode_gif(const cvtm_image_source *source, cvtm_image *image,
                                  cvtm_error *error) {
  gif_reader r = {.source = source, .transparent = -1};
  int code = 0;
  r.gif = DGifOpen(&r, read_bytes, &code);
  if (r.gif == NULL) return bad_gif(&r, code, error);
  cvtm_status status = read_picture(&r, image, error);
  DGifCloseFile(r.gif, &code);
  free(r.index);
  free(r.row);
  cvtm_pixels_end(&r.pixels);
  return status;
}

#endif
