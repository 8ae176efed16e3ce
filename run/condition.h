/* The options of segmentation and of the density's pipeline (density/pipeline.h), for the
 * subcommands that have them: checks, values, and their part of the report. */
#pragma once

#include "base/device.h"
#include "run/options.h"
#include "density/density.h"
#include "density/pipeline.h"
#include "meshes/mesh.h"
#include "meshes/refine/adapt.h"

#include <cjson/cJSON.h>

/* Check options that depend on each other. CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_segment_check(const cvtm_run_options *options, cvtm_error *error);
cvtm_status run_condition_check(const cvtm_run_options *options, cvtm_error *error);

/* Segments a picture by the options; cvtm_segmentation_free frees it. *error has the message. */
cvtm_status run_segment_image(cvtm_device *device, const cvtm_run_options *options,
                              const cvtm_image *image, cvtm_segmentation *made, cvtm_error *error);
void run_segment_report(const cvtm_segmentation *made, cJSON *report);

/* Reads the picture and makes its density by the options; to be freed by cvtm_pipeline_free. Device
 * NULL: the CPU. Replaces an automatic density_from by the chosen one. *tone: the ink that a
 * drawing needs in each pixel, malloc'd, 0 where the density is 0; NULL for data. *rgb:
 * cvtm_colours_from_image. `tone` and `rgb` may be NULL. */
cvtm_status run_read_conditioned(cvtm_device *device, cvtm_run_options *options,
                                 cvtm_pipeline_result *made, float **tone, float **rgb,
                                 cvtm_error *error);
void run_condition_report(const cvtm_run_options *options, const cvtm_pipeline_result *made,
                          cJSON *report);

/* Sizes from a field on a mesh. In `run`, --size-from replaces the picture by such sizes; in
 * `mesh`, --size accepts them as any other size. */

/* A field on a mesh. Points of a file are triangulated. Positions are in pixels, y down. */
typedef struct run_field {
  cvtm_mesh mesh;
  double *values;      /* per vertex; NULL: the field is a metric */
  cvtm_metric *metric; /* per vertex; NULL: the field is one number */
  double scale; /* factor from pixels to the unit of the file, which is the unit of the values */
} run_field;

/* Nonzero if files with this extension hold fields on meshes or at points: vtu, msh and npy. */
int run_field_file_known(const char *path);
/* Reads the field named by --size-field, or rows of x, y and the value, or of x, y and the
 * components xx, xy and yy of a metric. The caller frees the field, also on failure. */
cvtm_status run_field_read(const cvtm_run_options *options, const cvtm_input *source,
                           cvtm_domain domain, run_field *field, cvtm_error *error);
void run_field_free(run_field *field);

/* Checks options that depend on each other. CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_size_from_check(const cvtm_run_options *options, cvtm_error *error);

/* Sizes on a raster over a rectangle. */
typedef struct run_size_raster {
  double left, upper, step; /* of the rectangle; step: the side of a cell */
  int width, height;
  double *size; /* malloc'd: width * height, in the unit of the rectangle; NULL: none */
} run_size_raster;

/* Reads the sizes of a file over the rectangle (left, upper, right, lower; y down, in pixels of the
 * domain), and lowers them so that sizes grow by at most 0.3 per unit of distance. */
cvtm_status run_size_raster_read(const cvtm_run_options *options, const char *path,
                                 cvtm_domain domain, const double rectangle[4],
                                 run_size_raster *raster, cvtm_error *error);
double run_size_at(const run_size_raster *raster, double x, double y);
