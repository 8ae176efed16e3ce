/* --size of `cvtmesh mesh`: meshes of an outline by edges of wanted lengths. */
#ifndef CVTMESH_CLI_OUTLINE_SIZES_H
#define CVTMESH_CLI_OUTLINE_SIZES_H

#include "cli/expression.h"
#include "cli/options.h"
#include "meshes/domain/pslg.h"
#include "meshes/sized/size_tree.h"
#include "meshes/sized_mesh.h"
#include "run/domain.h"

#include <cjson/cJSON.h>

/* The size of one --size. */
typedef struct cli_size_rule {
  char name[CLI_EXPRESSION_NAME_BYTES]; /* "": everywhere */
  cli_expression formula;
  int unit;       /* of a number that is still in this unit; -1: none */
  int32_t region; /* > 0: only there */
  int is_of_boundary;
  cvtm_size_tree near[CLI_EXPRESSION_NAMES]; /* places on what d(NAME) names */
} cli_size_rule;

typedef struct cli_sizes {
  int count;
  cli_size_rule *rule;
  double factor;     /* of all sizes, for -n */
  double cap_factor; /* of sizes that areas bound */
  double base;       /* if no rule holds everywhere: the size elsewhere; INFINITY: with -n alone */
  int is_up;         /* y of the formulas is -y of the boundary */
  const run_area_caps *caps;
  double *edge_size;  /* per edge of the boundary; NULL: none has its own */
  uint8_t *is_smooth; /* per vertex of the boundary; NULL: none is */
  double tolerance;   /* of --simplify; -1: that of curves */
  cvtm_sized_options options;
  cvtm_sized_figures figures;
} cli_sizes;

/* True if --size or -n asks for such a mesh; not with --metric or --size max. */
int cli_sizes_wanted(const cli_options *options);
/* Reads every --size. CVTM_ERROR_USAGE. */
cvtm_status cli_sizes_read(const cli_options *options, cli_sizes *sizes, cvtm_error *error);
void cli_sizes_free(cli_sizes *sizes);

/* Names of regions and of parts of the boundary; borrowed. */
typedef struct cli_outline_names {
  const cvtm_region_name *regions;
  int64_t region_count;
  const cvtm_marks *marks;
  const cvtm_run_list *parts; /* --boundary-name */
} cli_outline_names;

/* The outline that is meshed; borrowed. */
typedef struct cli_sized_outline {
  const cvtm_boundary *boundary; /* y down */
  const cli_outline_names *names;
  const double *sides; /* left, upper, right, lower */
  cvtm_domain domain;  /* for --page */
  int is_up;           /* y in the file is -y */
  const int32_t *twin; /* of cli_outline_twins; NULL: not periodic */
  double *curve;       /* 2 * curve_count: corners between chords of curves; sorted here */
  int64_t curve_count;
} cli_sized_outline;

cvtm_status cli_sizes_mesh(const cli_options *options, const cli_sized_outline *outline,
                           const run_area_caps *caps, const run_limit *limit, cli_sizes *sizes,
                           cvtm_mesh *mesh, cvtm_regions *regions, cvtm_error *error);
void cli_sizes_report(const cli_sizes *sizes, cJSON *report);

/* Checks --boundary-name, but for the parts. CVTM_ERROR_USAGE. */
cvtm_status cli_outline_names_check(const cvtm_run_list *given, cvtm_error *error);

/* cvtm_regions_group_marked, then the names of --boundary-name, with the sides of the outline's
 * rectangle in place of the image's. */
cvtm_status cli_outline_group(const cvtm_mesh *mesh, const double sides[4],
                              const cli_outline_names *names, cvtm_regions *regions,
                              cvtm_error *error);

#endif
