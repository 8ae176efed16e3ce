#include "density/pictures/image_formats.h"

#if CVTMESH_HAVE_JPEG

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum { MAX_SCANS = 1000 };

/* All state of the decoder, so that no local variable has to survive a longjmp out of libjpeg.
 * `errors` comes first, because libjpeg passes a pointer to it. */
typedef struct jpeg_reader {
  struct jpeg_error_mgr errors;
  jmp_buf jump;
  struct jpeg_decompress_struct jpeg;
  struct jpeg_progress_mgr progress;
  const cvtm_image_source *source;
  cvtm_pixels pixels;
  cvtm_image *image;
  JOCTET *profile; /* malloc'd by libjpeg; NULL: none */
  unsigned profile_size;
  int orientation; /* stored, because libjpeg drops the markers when it finishes */
  char reason[JMSG_LENGTH_MAX];
} jpeg_reader;

static void on_error(j_common_ptr jpeg) {
  jpeg_reader *reader = (jpeg_reader *)jpeg->err;
  jpeg->err->format_message(jpeg, reader->reason);
  longjmp(reader->jump, 1);
}

/* Makes an error of a warning that may concern pixels, because libjpeg fills missing pixels with
 * grey and only warns. Ignores the other warnings, for example about padding between markers, which
 * cameras write. */
static void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  int code = jpeg->err->msg_code;
#if defined(LIBJPEG_TURBO_VERSION_NUMBER) && LIBJPEG_TURBO_VERSION_NUMBER >= 1005090
  if (code == JWRN_BOGUS_ICC) return;
#endif
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR) return;
  on_error(jpeg);
}

static void on_output(j_common_ptr jpeg) { (void)jpeg; }

/* Limits the passes over a large picture that a small file can require. */
static void on_progress(j_common_ptr jpeg) {
  jpeg_reader *reader = (jpeg_reader *)jpeg->err;
  if (reader->jpeg.input_scan_number > MAX_SCANS) {
    snprintf(reader->reason, sizeof reader->reason, "more than %d scans", MAX_SCANS);
    longjmp(reader->jump, 1);
  }
}

/* --- Markers --- */

static int find_orientation(const jpeg_reader *reader) {
  for (jpeg_saved_marker_ptr marker = reader->jpeg.marker_list; marker != NULL;
       marker = marker->next) {
    if (marker->marker != JPEG_APP0 + 1) continue;
    if (marker->data_length < 6 || memcmp(marker->data, "Exif\0\0", 6) != 0) continue;
    int orientation = cvtm_exif_orientation(marker->data, marker->data_length);
    if (orientation != 1) return orientation;
  }
  return 1;
}

/* Gets the ICC profile, which may be split over several APP2 markers. Only libjpeg-turbo 2.0 and
 * later can join them; with other libraries no profile is read. */
static void find_profile(jpeg_reader *reader) {
#if defined(LIBJPEG_TURBO_VERSION_NUMBER) && LIBJPEG_TURBO_VERSION_NUMBER >= 1005090
  jpeg_read_icc_profile(&reader->jpeg, &reader->profile, &reader->profile_size);
#else
  (void)reader;
#endif
}

/* Reads the resolution from the JFIF header. */
static void find_place(jpeg_reader *reader) {
  const double inch = 25.4, centimetre = 10;
  const struct jpeg_decompress_struct *jpeg = &reader->jpeg;
  if (jpeg->saw_JFIF_marker && (jpeg->density_unit == 1 || jpeg->density_unit == 2))
    cvtm_place_set_resolution(&reader->image->place, jpeg->X_density, jpeg->Y_density,
                              jpeg->density_unit == 1 ? inch : centimetre);
}

/* --- Pixels --- */

static cvtm_status choose_colours(jpeg_reader *reader) {
  switch (reader->jpeg.jpeg_color_space) {
    case JCS_GRAYSCALE:
      reader->jpeg.out_color_space = JCS_GRAYSCALE;
      return CVTM_OK;
    case JCS_RGB:
    case JCS_YCbCr:
      reader->jpeg.out_color_space = JCS_RGB;
      return CVTM_OK;
    case JCS_CMYK:
    case JCS_YCCK:
      reader->jpeg.out_color_space = JCS_CMYK;
      return CVTM_OK;
    default:
      return cvtm_image_fail(reader->source, "JPEG with %d channels is not supported",
                             reader->jpeg.num_components);
  }
}

static cvtm_status prepare_jpeg(jpeg_reader *reader) {
  const cvtm_image_source *source = reader->source;
  uint64_t width = reader->jpeg.image_width, height = reader->jpeg.image_height;
  CVTM_TRY(cvtm_image_check_size(source, width, height));
  /* Huffman codes take at least one bit per block of 64 pixels; arithmetic codes can take less */
  if (!reader->jpeg.arith_code) CVTM_TRY(cvtm_image_check_ratio(source, width * height, 64 * 8));
  CVTM_TRY(choose_colours(reader));
  const int channels = reader->jpeg.out_color_space == JCS_GRAYSCALE ? 1
                       : reader->jpeg.out_color_space == JCS_RGB     ? 3
                                                                     : 4;
  const cvtm_pixel_layout layout = {
      .colours = channels, .max = 255, .is_light = reader->jpeg.saw_Adobe_marker};
  const cvtm_colour_source colour = {.profile = reader->profile,
                                     .profile_size = reader->profile_size};
  CVTM_TRY(cvtm_pixels_begin(source, layout, &colour, (int)width, (int)height, reader->image,
                             &reader->pixels));
  return cvtm_pixels_begin_rows(source, &reader->pixels);
}

static void read_pixels(jpeg_reader *reader) {
  reader->jpeg.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&reader->jpeg);
  while (reader->jpeg.output_scanline < reader->jpeg.output_height) {
    JSAMPROW row = cvtm_pixels_row(&reader->pixels, (int)reader->jpeg.output_scanline);
    jpeg_read_scanlines(&reader->jpeg, &row, 1);
  }
  cvtm_pixels_finish_rows(&reader->pixels);
  jpeg_finish_decompress(&reader->jpeg);
}

/* libjpeg's errors jump only into this function, which changes no local variable that is read after
 * a jump. */
static cvtm_status run_reader(jpeg_reader *reader) {
  if (setjmp(reader->jump) != 0)
    return cvtm_image_fail(reader->source, "bad JPEG: %s", reader->reason);
  jpeg_create_decompress(&reader->jpeg);
  reader->jpeg.progress = &reader->progress;
  jpeg_mem_src(&reader->jpeg, reader->source->bytes, reader->source->size);
  jpeg_save_markers(&reader->jpeg, JPEG_APP0 + 1, 0xFFFF);
  jpeg_save_markers(&reader->jpeg, JPEG_APP0 + 2, 0xFFFF);
  jpeg_read_header(&reader->jpeg, TRUE);
  reader->orientation = find_orientation(reader);
  find_profile(reader);
  CVTM_TRY(prepare_jpeg(reader));
  read_pixels(reader);
  find_place(reader);
  return CVTM_OK;
}

cvtm_status cvtm_image_decode_jpeg(const cvtm_image_source *source, cvtm_image *image) {
  jpeg_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return cvtm_image_no_memory(source);
  reader->source = source;
  reader->image = image;
  reader->jpeg.err = jpeg_std_error(&reader->errors);
  reader->errors.error_exit = on_error;
  reader->errors.emit_message = on_message;
  reader->errors.output_message = on_output;
  reader->progress.progress_monitor = on_progress;
  cvtm_status status = run_reader(reader);
  int orientation = reader->orientation;
  jpeg_destroy_decompress(&reader->jpeg);
  free(reader->profile);
  cvtm_pixels_end(&reader->pixels);
  free(reader);
  return status == CVTM_OK ? cvtm_image_orient(source, orientation, image) : status;
}

#endif
