/* A run in stages, so that a batch can read and write files while a device computes. After a
 * failure no further stage may follow. */
#pragma once

#include "density/density.h"
#include "run/follow.h"
#include "run/options.h"

/* Checks the options against each other before any file except the profile of G-code is read.
 * CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_check(const cvtm_run_options *options, cvtm_error *error);

/* Copies the options; their strings must outlive the run. */
cvtm_status run_create(const cvtm_run_options *options, cvtm_run **run, cvtm_error *error);
/* Reads the image, computes its density and takes the sites of --fixed and --init. device: for
 * smoothing and segmentation; NULL: the CPU. */
cvtm_status run_read(cvtm_run *run, cvtm_device *device, cvtm_error *error);
/* With --follow, before run_descend: starts from the previous frame (run_frame_follow). */
cvtm_status run_follow(cvtm_run *run, const run_film_frame *before, const run_motion *motion,
                       cvtm_error *error);
/* To be called before run_place if the array that was read is also in the memory of the run's
 * device, with `pixels` values, and remains there unchanged. array: the values on the host. If they
 * are the density, bit for bit, the device uses the array in its memory and needs no copy. */
void run_lend(cvtm_run *run, const float *array, int64_t pixels, const float *on_device);
/* Makes the plan: brings the density to the device. run_descend does so if this was not called. */
cvtm_status run_plan(cvtm_run *run, cvtm_device *device, cvtm_error *error);
/* Minimises the energy: the sites then stay. run_place does so if this was not called. */
cvtm_status run_descend(cvtm_run *run, cvtm_device *device, cvtm_error *error);
/* Minimises the energy, evaluates the result and, if that saves a copy of the sites to the device,
 * triangulates them. Other runs may use the device afterwards, but the device must outlive the run,
 * which reports its name. */
cvtm_status run_place(cvtm_run *run, cvtm_device *device, cvtm_error *error);
/* --order: sorts the sites in the order of a pen. An interruption or --time-limit ends this early;
 * the files then differ from those of a complete run. */
cvtm_status run_order(cvtm_run *run, cvtm_error *error);
/* True if the mesh is so large that a CUDA device makes it faster. */
int run_mesh_is_large(const cvtm_run *run);
/* Computes mesh, cells and quality. device: for a large mesh; NULL: the CPU. */
cvtm_status run_mesh(cvtm_run *run, cvtm_device *device, cvtm_error *error);
/* Writes every file that the options name; uses no device. */
cvtm_status run_write(cvtm_run *run, cvtm_error *error);
/* Writes the files that other options name, after the mesh is made. asked: the options of the run,
 * except that those of the outputs may differ. Some files need `keep`. */
cvtm_status run_save(cvtm_run *run, const cvtm_run_options *asked, cvtm_error *error);
/* After the mesh: false if a solver did not converge, or a mesh misses its smallest angle. */
int run_converged(const cvtm_run *run);

/* --preset and --effort preview: defaults of several options at once. Options that are given keep
 * their values. */

/* Replaces defaults by those of the preset and of a preview. */
void run_preset_apply(cvtm_run_options *options);
/* Sets what no option of the program sets. For the paper's pipeline these are a history of m = 8,
 * the approximate Cauchy point, and no steps of Lloyd's method before L-BFGS-B. */
void run_preset_descent(const cvtm_run_options *options, cvtm_cvt_options *settings);
/* The largest number of sites of a preview, twice that of points of a line, and about the largest
 * number of pixels. */
enum { RUN_PREVIEW_SITES = 20000, RUN_PREVIEW_PIXELS = 400000 };
/* --effort preview: sets the effort and limits sites and time. */
void run_preview_apply(cvtm_run_options *options);
/* Limits the sites of a preview to the number for which there is time. */
void run_preview_limit(cvtm_run_options *options);
/* Crops a picture that fills its page to the part on the page, unless other inputs or outputs are
 * in its pixels. So -n dots or points are drawn, but for those in pixels that the margins cut, and
 * a time is that of the drawing. */
cvtm_status run_page_crop(const cvtm_run_options *options, cvtm_image *image, cvtm_error *error);
/* Reduces a large picture of a preview to larger pixels, options->preview.side times as wide,
 * unless other inputs or outputs are in its pixels. */
cvtm_status run_preview_reduce(cvtm_run_options *options, cvtm_image *image, cvtm_error *error);
/* Converts a run whose picture was reduced to the picture's pixels. After this the run has no more
 * tone and coverages of its domain: files can be written, but no dots sized. */
cvtm_status run_preview_restore(cvtm_run *run, cvtm_error *error);
