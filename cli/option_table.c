#include "cli/option_table.h"

#include "run/options.h"

#include "lcp/problems/complementarity.h"
#include "run/domain.h"
#include "cvt/cvt.h"
#include "density/density.h"
#include "density/size_field.h"
#include "draw/inks.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"
#include "meshes/mesh_file.h"
#include "viewer/view.h"

#include <math.h>
#include <string.h>

/* --- choices: names on the command line, and the values that they stand for ----------------- */

#define CHOICE_OF(code, name) {name, code},
#define END_OF_CHOICES \
  { NULL, 0 }

/* Lists whose values are named by the library. */
static const cli_choice voronoi_methods[] = {CVTM_VORONOI_LIST(CHOICE_OF) END_OF_CHOICES};
static const cli_choice hlcp_methods[] = {CVTM_HLCP_METHOD_LIST(CHOICE_OF) END_OF_CHOICES};
static const cli_choice lcp_methods[] = {CVTM_LCP_METHOD_LIST(CHOICE_OF) END_OF_CHOICES};
/* On a mesh, the membrane is what others call the obstacle problem. */
static const cli_choice lcp_problems[] = {
    CVTM_MODEL_LIST(CHOICE_OF){"obstacle", CVTM_MODEL_MEMBRANE}, END_OF_CHOICES};

static const cli_choice svg_kinds[] = {{"stipples", CVTM_SVG_STIPPLES},
                                       {"cells", CVTM_SVG_CELLS},
                                       {"mesh", CVTM_SVG_MESH},
                                       {"path", CVTM_SVG_PATH},
                                       END_OF_CHOICES};
static const cli_choice dot_areas[] = {{"auto", CVTM_RUN_DOTS_AUTO},
                                       {"equal", CVTM_RUN_DOTS_EQUAL},
                                       {"mass", CVTM_RUN_DOTS_MASS},
                                       {"tone", CVTM_RUN_DOTS_TONE},
                                       END_OF_CHOICES};
static const cli_choice point_orders[] = {{"none", CVTM_RUN_ORDER_NONE},
                                          {"tsp", CVTM_RUN_ORDER_TSP},
                                          {"plot", CVTM_RUN_ORDER_PLOT},
                                          END_OF_CHOICES};
static const cli_choice ink_sets[] = {{"none", 0}, {"cmyk", 1}, END_OF_CHOICES};
static const cli_choice page_orientations[] = {{"auto", CVTM_RUN_PAGE_AUTO},
                                               {"portrait", CVTM_RUN_PAGE_PORTRAIT},
                                               {"landscape", CVTM_RUN_PAGE_LANDSCAPE},
                                               END_OF_CHOICES};
#define LENGTH_UNIT(code, name, mm) {name, code},
static const cli_choice coordinate_units[] = {{"pixel", CVTM_RUN_UNIT_PIXEL},
                                              {"width", CVTM_RUN_UNIT_WIDTH},
                                              CVTM_RUN_LENGTH_LIST(LENGTH_UNIT) END_OF_CHOICES};
static const cli_choice presets[] = {
    {"none", CVTM_RUN_PRESET_NONE}, {"paper", CVTM_RUN_PRESET_PAPER}, END_OF_CHOICES};
static const cli_choice noise_kinds[] = {
    {"hexagonal", CVTM_RUN_NOISE_HEXAGONAL}, {"blue", CVTM_RUN_NOISE_BLUE}, END_OF_CHOICES};
static const cli_choice cvt_methods[] = {
    {"lloyd", CVTM_CVT_LLOYD}, {"lbfgsb", CVTM_CVT_LBFGSB}, END_OF_CHOICES};
static const cli_choice cvt_energies[] = {
    {"exact", CVTM_CVT_EXACT}, {"pixel", CVTM_CVT_PIXEL}, END_OF_CHOICES};
static const cli_choice cvt_starts[] = {{"auto", CVTM_CVT_START_AUTO},
                                        {"random", CVTM_CVT_START_RANDOM},
                                        {"stratified", CVTM_CVT_START_STRATIFIED},
                                        END_OF_CHOICES};
static const cli_choice cvt_efforts[] = {{"low", CVTM_CVT_EFFORT_LOW},
                                         {"normal", CVTM_CVT_EFFORT_NORMAL},
                                         {"high", CVTM_CVT_EFFORT_HIGH},
                                         {"best", CVTM_CVT_EFFORT_BEST},
                                         END_OF_CHOICES};
static const cli_choice domain_kinds[] = {
    {"none", CVTM_RUN_DOMAIN_NONE},     {"image", CVTM_RUN_DOMAIN_IMAGE},
    {"mask", CVTM_RUN_DOMAIN_MASK},     {"polygon", CVTM_RUN_DOMAIN_POLYGON},
    {"labels", CVTM_RUN_DOMAIN_LABELS}, {"segment", CVTM_RUN_DOMAIN_SEGMENT},
    {"frame", CVTM_RUN_DOMAIN_FRAME},   END_OF_CHOICES};
static const cli_choice size_sources[] = {{"solution", CVTM_SIZE_FROM_SOLUTION},
                                          {"indicator", CVTM_SIZE_FROM_INDICATOR},
                                          {"size", CVTM_SIZE_GIVEN},
                                          END_OF_CHOICES};
static const cli_choice compressions[] = {{"none", CVTM_COMPRESS_NONE},
                                          {"zlib", CVTM_COMPRESS_ZLIB},
                                          {"lz4", CVTM_COMPRESS_LZ4},
                                          END_OF_CHOICES};
static const cli_choice msh_versions[] = {
    {"4.1", CVTM_MSH_4_1}, {"2.2", CVTM_MSH_2_2}, END_OF_CHOICES};
static const cli_choice boundary_kinds[] = {{"locked", 0}, {"sliding", 1}, END_OF_CHOICES};
static const cli_choice density_sources[] = {{"auto", CVTM_DENSITY_FROM_AUTO},
                                             {"tone", CVTM_DENSITY_FROM_TONE},
                                             {"density", CVTM_DENSITY_FROM_DENSITY},
                                             {"size", CVTM_DENSITY_FROM_SIZE},
                                             END_OF_CHOICES};
static const cli_choice minimize_bounds[] = {{"natural", CLI_BOUNDS_NATURAL},
                                             {"box", CLI_BOUNDS_BOX},
                                             {"none", CLI_BOUNDS_NONE},
                                             END_OF_CHOICES};
static const cli_choice cauchy_points[] = {{"approximate", CVTM_LBFGSB_CAUCHY_APPROXIMATE},
                                           {"exact", CVTM_LBFGSB_CAUCHY_EXACT},
                                           END_OF_CHOICES};
static const cli_choice hlcp_rules[] = {
    {"rows", CVTM_HLCP_ROWS}, {"block", CVTM_HLCP_BLOCK}, END_OF_CHOICES};
static const cli_choice hlcp_splits[] = {
    {"both", CVTM_HLCP_SPLIT_BOTH}, {"a", CVTM_HLCP_SPLIT_A_ONLY}, END_OF_CHOICES};
static const cli_choice lcp_storages[] = {{"sparse", 0}, {"matrix-free", 1}, END_OF_CHOICES};
static const cli_choice cell_fills[] = {
    {"area", CVTM_FILL_AREA}, {"site", CVTM_FILL_SITE}, {"sides", CVTM_FILL_SIDES}, END_OF_CHOICES};

const cli_choice *cli_choice_find(const cli_choice *choices, const char *name) {
  for (; choices->name != NULL; ++choices)
    if (strcmp(choices->name, name) == 0) return choices;
  return NULL;
}

const char *cli_choice_name(const cli_choice *choices, int value) {
  for (; choices->name != NULL; ++choices)
    if (choices->value == value) return choices->name;
  return NULL;
}

int cli_choice_names(const cli_choice *choices, char separator, char *text, size_t capacity) {
  int length = 0;
  for (const cli_choice *choice = choices; choice->name != NULL; ++choice) {
    const size_t used = (size_t)length < capacity ? (size_t)length : capacity;
    const char before[2] = {choice == choices ? '\0' : separator, '\0'};
    length += snprintf(text + used, capacity - used, "%s%s", before, choice->name);
  }
  return length;
}

/* --- the table ------------------------------------------------------------------------------- */

#define IN(command) (1u << (command))
#define RUN_ALONE IN(CLI_RUN)
#define BATCH IN(CLI_BATCH)
#define RUN (RUN_ALONE | BATCH)
#define VORONOI IN(CLI_VORONOI)
#define MESH IN(CLI_MESH)
#define STATS IN(CLI_STATS)
#define VIEW IN(CLI_VIEW)
#define INFO IN(CLI_INFO)
#define MINIMIZE IN(CLI_MINIMIZE)
#define HLCP IN(CLI_HLCP)
#define LCP IN(CLI_LCP)
#define DENSITY IN(CLI_DENSITY)
#define SEGMENT IN(CLI_SEGMENT)
#define COUNT_MAX 2147483647.0
#define SEED_MAX 9007199254740992.0 /* 2^53, what every JSON reader keeps */

/* The columns from `type` to `most`, by the type of the option. */
#define FLAG(field) CLI_FLAG, CLI_FIELD(field), NULL, NULL, 0, 0
#define INTEGER(field, argument, least, most) \
  CLI_INTEGER, CLI_FIELD(field), argument, NULL, least, most
#define REAL(field, argument, least, most) CLI_REAL, CLI_FIELD(field), argument, NULL, least, most
#define CHOICE(field, choices) CLI_CHOICE, CLI_FIELD(field), NULL, choices, 0, 0
#define SWITCH(field, choices, off, on) CLI_SWITCH, CLI_FIELD(field), NULL, choices, off, on
#define TEXT(field, argument) CLI_TEXT, CLI_FIELD(field), argument, NULL, 0, 0
#define LIST(field, argument) CLI_LIST, CLI_FIELD(field), argument, NULL, 0, 0

/* Most rows leave out the last two columns: CLI_NO_FILE, CLI_ON_RESULT. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
/* clang-format off */
const cli_option_row cli_option_rows[] = {
  {"points", 'n', RUN | MESH | VIEW, INTEGER(run.points, "N", 1, COUNT_MAX),
   "number of sites (of vertices, with --metric); if omitted, as many dots as the ink of the picture needs (see\n"
   "--dot-size)"},
  {"output", 'o', RUN | VORONOI | MESH | VIEW | MINIMIZE | LCP | DENSITY | SEGMENT, LIST(run.output, "FILE"),
   "write FILE in the format of its extension; can be repeated; - is standard output", CLI_WRITES},
  {"format", 0, RUN | VORONOI | MESH | VIEW | MINIMIZE | LCP | DENSITY | SEGMENT, TEXT(run.format, "EXT"),
   "the format of standard output, as an extension"},
  {"picture", 0, RUN, TEXT(run.picture, "FILE"), "draw density, cells, edges and sites in a PNG file", CLI_WRITES},
  {"layers", 0, RUN | MESH, TEXT(run.layers, "LIST"),
   "what a picture shows, separated by commas: density, cells, cell-edges, triangles,\n"
   "mesh-edges, sites, stipples"},
  {"picture-size", 0, RUN | MESH | VIEW, INTEGER(run.picture_size, "PIXELS", 0, 16384),
   "length of the longer side of a picture; 0: chosen from the spacing of the sites"},
  {"density-out", 0, RUN, TEXT(run.density_out, "FILE"),
   "write the density that was used as NPY, float32, height x width", CLI_WRITES},
  {"report", 0, RUN_ALONE | VORONOI | MESH | MINIMIZE, TEXT(run.report, "FILE"),
   "write a JSON report; - is standard output", CLI_WRITES},
  {"run-report", 0, BATCH, TEXT(run.report, "FILE"), "write a JSON report of each run", CLI_WRITES},
  {"svg", 0, RUN | MESH | VIEW, CHOICE(run.svg, svg_kinds),
   "what an SVG or another drawing shows"},
  {"dots", 0, RUN | STATS | VIEW, CHOICE(run.dots, dot_areas),
   "sizes of the dots of a drawing. mass: each has the ink of its cell; tone: the same, with\n"
   "larger dots where the picture is darker; equal: one size, with the mean ink of the\n"
   "picture; auto: mass for pictures, equal for data"},
  {"dot-size", 0, RUN | STATS | VIEW, TEXT(run.dot_size, "MIN,MAX"),
   "smallest and largest diameter of the dots, or one number for both: in mm on a page, else\n"
   "in pixels, or with a unit (mm, px); without -n it also gives the number of sites"},
  {"overlap", 0, RUN | STATS | VIEW, FLAG(run.overlap),
   "allow dots to overlap; with --no-overlap dots shrink until they do not"},
  {"colours", 0, RUN, CHOICE(run.colours.cmyk, ink_sets),
   "draw with several inks; cmyk: cyan, magenta, yellow and black"},
  {"pens", 0, RUN, TEXT(run.colours.pens, "FILE"),
   "draw with the inks in FILE: lines `name = #rrggbb`, or `name = #rrggbb MIN,MAX` with the\n"
   "diameters of dots", CLI_READS},
  {"palette", 0, RUN, INTEGER(run.colours.palette, "N", 0, CVTM_INKS_MAX),
   "draw with N inks chosen from the picture; 0: in one colour"},
  {"coupling", 0, RUN, REAL(run.colours.coupling, "W", 0, 1e6),
   "with several inks: the weight of the spacing of all dots together, relative to that of\n"
   "the dots of each ink; 0: each ink is placed alone"},
  {"order", 0, RUN | MESH, CHOICE(run.order, point_orders),
   "order of the points. tsp: along a short closed path through all; plot: along the same\n"
   "path, opened, so that a pen travels little between dots"},
  {"page", 0, RUN | MESH | STATS | VIEW, TEXT(run.page.size, "SIZE"),
   "draw on a page: A0 to A6, letter, legal, tabloid, or WIDTHxHEIGHT in mm; for svg, pdf,\n"
   "dxf, hpgl (plt) and gcode (nc)"},
  {"margin", 0, RUN | MESH | STATS | VIEW, REAL(run.page.margin, "MM", 0, 10000), "margin of the page; nothing is drawn there"},
  {"orientation", 0, RUN | MESH | STATS | VIEW, CHOICE(run.page.orientation, page_orientations),
   "orientation of the page; auto: that of the picture, except for WIDTHxHEIGHT"},
  {"fill", 0, RUN | MESH | STATS | VIEW, FLAG(run.page.fill),
   "fill the page inside the margins and crop the picture; otherwise the whole picture is\n"
   "drawn"},
  {"split", 0, RUN | MESH, REAL(run.page.split, "MM", 0, HUGE_VAL),
   "split lines into parts of at most this length, to refill the pen between them; 0: never"},
  {"gcode", 0, RUN | MESH, TEXT(run.page.gcode, "PROFILE"),
   "how to write G-code: grbl-servo, grbl-z, marlin-servo, or a file with a profile", CLI_READS_PROFILE},
  {"unit", 0, RUN | MESH | STATS | VIEW, SWITCH(run.unit, coordinate_units, CVTM_RUN_UNIT_PIXEL, CVTM_RUN_UNIT_WIDTH),
   "unit of coordinates in files. A length: on the page, or in the world (--pixel-size);\n"
   "width, or no value: coordinates of meshes are divided by the width of the image"},
  {"pixel-size", 0, RUN | MESH | STATS, TEXT(run.world.pixel_size, "LENGTH"),
   "the size of a pixel in the world, for example 0.65um; or file: what the picture's file\n"
   "says. Files then have real units, y up"},
  {"origin", 0, RUN | MESH | STATS, TEXT(run.world.origin, "X,Y"),
   "with --pixel-size: the coordinates of the picture's lower left corner"},
  {"ascii", 0, RUN | MESH | VIEW | LCP, FLAG(run.ascii), "write text if the mesh format is binary by default"},
  {"binary", 0, RUN | MESH | VIEW, FLAG(run.binary), "write binary if the mesh format is text by default (msh)"},
  {"compress", 0, RUN | MESH | VIEW, CHOICE(run.compression, compressions), "compression of binary vtu files"},
  {"element-order", 0, RUN | MESH, INTEGER(run.element_order, "N", 1, 2),
   "2: add nodes in the middle of edges; on the boundary they lie on its curves (vtu, vtk,\n"
   "msh, inp, ele)"},
  {"msh-version", 0, RUN | MESH | VIEW, CHOICE(run.msh_version, msh_versions), "version of Gmsh's format"},

  {"preset", 0, RUN | VIEW, CHOICE(run.preset, presets),
   "paper: the method of Fei, Rong, Wang & Wang 2014: random start, pixel energy, jump\n"
   "flooding, and L-BFGS-B with m = 8 and the approximate Cauchy point until the energy\n"
   "stops falling"},
  {"preview", 0, RUN_ALONE, FLAG(run.preview.on),
   "a rough result in some seconds: few iterations, and at most 20000 sites"},
  {"noise", 0, RUN, CHOICE(run.noise, noise_kinds),
   "kind of sites. hexagonal: a tessellation, nearly a hexagonal lattice; blue: irregular,\n"
   "isotropic blue noise, whose density follows that of the image (as with --equal-mass)"},
  {"method", 0, RUN | VIEW, CHOICE(run.method, cvt_methods), "how the energy is minimised"},
  {"method", 0, VORONOI, CHOICE(run.voronoi, voronoi_methods), "how the diagram is computed"},
  {"energy", 0, RUN | VIEW, CHOICE(run.energy, cvt_energies),
   "objective. exact: integrals over polygonal cells; pixel: sums over pixels"},
  {"voronoi", 0, RUN | VIEW, CHOICE(run.voronoi, voronoi_methods), "how to compute the diagram of the pixel energy"},
  {"iterations", 0, RUN | VIEW | MINIMIZE, INTEGER(run.iterations, "N", 0, 1e15), "maximum number of iterations; 0 keeps the start"},
  {"tolerance", 0, RUN | VIEW | MINIMIZE, REAL(run.tolerance, "T", 0, 1),
   "stop when the mean relative decrease over 10 iterations is at most this; 0: never"},
  {"gradient-tolerance", 0, RUN | VIEW, REAL(run.gradient_tolerance, "PIXELS", 0, HUGE_VAL),
   "stop when no site is farther than this from its centroid; 0: never"},
  {"time-limit", 0, RUN | MESH | VIEW | MINIMIZE, REAL(run.time_limit, "SECONDS", 0, HUGE_VAL),
   "stop optimising, or shortening a path, after this time; 0: never"},
  {"distributed", 0, RUN_ALONE, FLAG(distributed),
   "under mpirun: the ranks share the work of this one run", CLI_NO_FILE, CLI_NO_EFFECT},
  {"ranks", 0, RUN_ALONE, INTEGER(ranks, "N", 0, 4096),
   "start N processes on this machine that share the run; 0: none", CLI_NO_FILE, CLI_NO_EFFECT},
  {"checkpoint", 0, RUN_ALONE, TEXT(run.checkpoint.file, "FILE"),
   "write the state of the optimisation here from time to time, for --resume", CLI_WRITES, CLI_NO_EFFECT},
  {"checkpoint-every", 0, RUN_ALONE, REAL(run.checkpoint.every, "SECONDS", 0, HUGE_VAL),
   "time between two checkpoints", CLI_NO_FILE, CLI_NO_EFFECT},
  {"resume", 0, RUN_ALONE, TEXT(run.checkpoint.resume, "FILE"),
   "continue the run that wrote this checkpoint, to the same files", CLI_READS, CLI_NO_EFFECT},
  {"seed", 0, RUN | VIEW, INTEGER(run.seed, "N", 0, SEED_MAX), "seed of the random start; the same seed gives the same files"},
  {"start", 0, RUN | VIEW, CHOICE(run.start, cvt_starts),
   "how to place the first sites; auto: a hexagonal lattice if the density is even, else\n"
   "stratified"},
  {"effort", 0, RUN, CHOICE(run.effort, cvt_efforts),
   "low: one descent from the first sites; normal: from coarse to fine; high: then move\n"
   "sites from crowded to sparse places, several times as long; best: then rounds of\n"
   "random changes, keeping those that lower the energy"},
  {"init", 0, RUN | VIEW, TEXT(run.init, "FILE"), "start from the points of FILE (csv, npy, xyz)", CLI_READS},
  {"fixed", 0, RUN | VIEW, TEXT(run.fixed, "FILE"),
   "sites that do not move; they come first and count among the N", CLI_READS},
  {"periodic", 0, RUN | MESH | VORONOI | STATS | VIEW, FLAG(run.periodic), "opposite sides are joined: a torus"},

  {"equal-mass", 0, RUN, FLAG(run.equal_mass.on),
   "cells of equal mass, by weighted cells (a power diagram); the density of the sites is\n"
   "then that of the image: tone, value or value^-2"},
  {"mass-tolerance", 0, RUN, REAL(run.equal_mass.tolerance, "T", 1e-13, 1),
   "of --equal-mass: the largest relative deviation of a cell's mass"},
  {"weights-out", 0, RUN, TEXT(run.equal_mass.weights_out, "FILE"),
   "of --equal-mass: write the weights of the sites as NPY, float64", CLI_WRITES},

  {"domain", 0, RUN, CHOICE(run.domain.kind, domain_kinds),
   "mesh a domain and keep its boundary: what is dark in the image (bright with\n"
   "--invert), what a file holds, or the whole image (frame); none: all sites are\n"
   "free"},
  {"mask", 0, RUN, TEXT(run.domain.mask, "IMAGE"), "of --domain mask: the alpha channel of IMAGE if it has one, else what is bright", CLI_READS},
  {"polygon", 0, RUN, TEXT(run.domain.polygon, "FILE"), "of --domain polygon: polygons with holes (svg, geojson, csv, poly)", CLI_READS},
  {"labels", 0, RUN, TEXT(run.domain.labels, "IMAGE"),
   "of --domain labels: a region for each grey level (or number of an NPY) except 0", CLI_READS},
  {"region-name", 0, RUN, LIST(run.domain.region_names, "N=NAME"),
   "name of region N in msh, inp and the report; can be repeated"},
  {"domain-smooth", 0, RUN, REAL(run.domain.smooth, "SIGMA", 0, 100),
   "smooth the boundary from an image, a mask or labels on this scale, in pixels"},
  {"domain-smallest", 0, RUN, REAL(run.domain.smallest, "AREA", 0, 1e12),
   "drop islands and holes smaller than this, in square pixels"},
  {"pairs-out", 0, RUN | MESH, TEXT(run.domain.pairs_out, "FILE"),
   "with --periodic: write the pairs of vertices on opposite sides as NPY", CLI_WRITES},
  {"boundary", 0, RUN, CHOICE(run.domain.sliding, boundary_kinds),
   "locked: sites on the boundary stay; sliding: they move along it to lower energy"},
  {"boundary-tolerance", 0, RUN, REAL(run.domain.tolerance, "PIXELS", 0.01, 100),
   "largest distance between edges and a smooth boundary"},
  {"min-angle", 0, RUN | MESH, REAL(run.refine.min_angle, "DEGREES", 0, 40),
   "refine the mesh until no angle is smaller, except at sharper corners of the boundary"},
  {"max-area", 0, RUN | MESH, LIST(run.refine.max_area, "[REGION=]AREA[UNIT2]"),
   "refine the mesh until no triangle (of the region) is larger; can be repeated"},

  {"picture", 0, STATS, TEXT(photograph, "IMAGE"),
   "also compare a drawing of the points as dots with this picture", CLI_READS},
  {"density", 0, STATS, TEXT(density, "IMAGE"), "also print the energy ratio for this density", CLI_READS},
  {"invert", 0, RUN | STATS | VIEW | DENSITY, FLAG(run.invert), "bright is dense"},
  {"gamma", 0, RUN | STATS | VIEW | DENSITY, REAL(run.gamma, "G", 1e-6, 1e6), "raise the tone to this power"},
  {"black", 0, RUN | STATS | VIEW | DENSITY, REAL(run.black, "LEVEL", 0, 1),
   "levels of a picture (sRGB values, 0 to 1) up to this become black"},
  {"white", 0, RUN | STATS | VIEW | DENSITY, REAL(run.white, "LEVEL", 0, 1),
   "levels of a picture from this on become white"},
  {"contrast", 0, RUN | STATS | VIEW | DENSITY, REAL(run.contrast, "FACTOR", 1e-3, 1e3),
   "multiply the distances of levels from middle grey by this"},
  {"density-from", 0, RUN | STATS | VIEW | DENSITY, CHOICE(run.density_from, density_sources),
   "density = tone^2, value, or value^-4; auto: tone for pictures, density for data"},
  {"size-from", 0, RUN | MESH, TEXT(run.size.from, "FILE"),
   "take the sizes of triangles from a field on a mesh (vtu, msh) or at points (npy), not from\n"
   "the picture", CLI_READS},
  {"size-field", 0, RUN | MESH, TEXT(run.size.field, "NAME"), "of --size-from: the name of the field; if omitted, the first"},
  {"size-as", 0, RUN | MESH, CHOICE(run.size.as, size_sources),
   "of --size-from: what the field is. solution: its interpolation error becomes the same\n"
   "everywhere; indicator: of the error; size: in the unit of the mesh"},
  {"metric", 0, MESH, TEXT(metric.from, "FIELD"),
   "stretch triangles along a field, so that --points vertices interpolate it best: the\n"
   "picture that is meshed (hessian), another one, a solution (vtu, msh, npy), or a metric (npy)"},
  {"metric-ratio", 0, MESH, REAL(metric.ratio, "R", 1, 1e6), "of --metric: the largest ratio of sizes in two directions"},
  {"floor", 0, RUN | STATS | VIEW | DENSITY, REAL(run.floor, "RHO", 0, 3e38), "raise smaller densities to this"},

  {"within", 0, RUN | DENSITY, LIST(run.condition.within, "FILE"),
   "keep the density only inside: an image (what is bright), polygons (svg, geojson, csv,\n"
   "poly), or alpha for the picture's own alpha channel; can be repeated: where all overlap", CLI_READS_REGION},
  {"obstacle", 0, RUN | DENSITY, LIST(run.condition.obstacle, "FILE"),
   "no density inside, and no smoothing through it; regions as for --within; can be repeated", CLI_READS_REGION},
  {"weight", 0, RUN | DENSITY, LIST(run.condition.weight, "FILE=FACTOR"),
   "multiply the density of a region; regions as for --within; can be repeated", CLI_READS_WEIGHT},
  {"smooth", 0, RUN | DENSITY, REAL(run.condition.smooth, "LAMBDA", 0, 1e12),
   "smooth the density, over about sqrt(LAMBDA) pixels; 0: not at all"},
  {"bias", 0, RUN | DENSITY, REAL(run.condition.bias, "P", 1e-9, 1 - 1e-9),
   "of --smooth: below 1/2 the result leans above the density, over 1/2 below it"},
  {"grade", 0, RUN | DENSITY, REAL(run.condition.grade, "LAMBDA", 0, 1e12),
   "the smoothest density that is nowhere below the image's; 0: not at all"},
  {"grade-max", 0, RUN | DENSITY, REAL(run.condition.grade_max, "RHO", 0, HUGE_VAL),
   "upper limit of grading, except where the image is higher; 0: none"},
  {"grade-size", 0, RUN | DENSITY, REAL(run.condition.grade_size, "G", 0, 1e6),
   "sizes (density^-1/4) grow by at most G per pixel; 0: no limit"},

  {"segment", 0, RUN | DENSITY, FLAG(run.segment.on),
   "keep the density only inside the object that seeds mark (see cvtmesh segment)"},
  {"inside", 0, RUN | DENSITY | SEGMENT, LIST(run.segment.inside, "X,Y,R"),
   "a disc inside the object, in pixels; can be repeated"},
  {"outside", 0, RUN | DENSITY | SEGMENT, LIST(run.segment.outside, "X,Y,R"),
   "a disc outside the object; can be repeated"},
  {"seeds", 0, RUN | DENSITY | SEGMENT, TEXT(run.segment.seeds, "IMAGE"),
   "seeds as a picture: white is inside, black outside, grey or transparent neither; data:\n"
   "by sign", CLI_READS},
  {"initial", 0, RUN | DENSITY | SEGMENT, TEXT(run.segment.initial, "WHAT"),
   "the first curve: grow (from the seeds up to edges), image (its border),\n"
   "X,Y,R (a circle) or a file as for --within of cvtmesh density", CLI_READS_CURVE},
  {"sigma", 0, RUN | DENSITY | SEGMENT, REAL(run.segment.sigma, "PIXELS", 0, 1000),
   "smooth the image by a Gaussian of this width first"},
  {"k", 0, RUN | DENSITY | SEGMENT, REAL(run.segment.k, "K", 0, 1e12),
   "how much edges slow the curve: by 1 / (1 + K |grad I|^2), on the unit square"},
  {"epsilon", 0, RUN | DENSITY | SEGMENT, REAL(run.segment.epsilon, "E", 1e-6, 1e6),
   "of Q = sqrt(E^2 + |grad u|^2) in the level set's equation"},
  {"seed-value", 0, RUN | DENSITY | SEGMENT, REAL(run.segment.seed_value, "V", 1e-6, 1e6),
   "the level set is at most -V on what belongs to the object, at least V on\n"
   "what does not; the longer side of the image is 1"},
  {"tau", 0, RUN | DENSITY | SEGMENT, REAL(run.segment.tau, "T", 1e-12, 1e6), "step in time"},
  {"steps", 0, RUN | DENSITY | SEGMENT, INTEGER(run.segment.steps, "N", 0, 1e6), "maximum number of steps"},
  {"tolerance", 0, SEGMENT, REAL(run.segment.tolerance, "T", 0, HUGE_VAL),
   "stop when a step changes the level set by less (root mean square)"},

  {"width", 0, VORONOI | MESH | STATS | VIEW, INTEGER(width, "W", 0, CVTM_MAX_SIDE),
   "width of the domain; 0: from the points, except for voronoi"},
  {"height", 0, VORONOI | MESH | STATS | VIEW, INTEGER(height, "H", 0, CVTM_MAX_SIDE),
   "height of the domain; 0: from the points, except for voronoi"},
  {"like", 0, VORONOI | MESH | STATS | VIEW, TEXT(like, "IMAGE"),
   "take the size of the domain from this picture", CLI_READS},
  {"nx", 0, MINIMIZE, INTEGER(minimize.nx, "N", 1, 1e15), "interior nodes across [200; gl2: 100]"},
  {"ny", 0, MINIMIZE, INTEGER(minimize.ny, "N", 1, 1e15), "interior nodes up [200; gl2: 100]"},
  {"n", 0, MINIMIZE, INTEGER(minimize.n, "N", 1, 1e15), "variables of gl1 [40000]"},
  {"atoms", 0, MINIMIZE, INTEGER(minimize.atoms, "N", 1, 1e15), "atoms of lj [20000]"},
  {"dim", 0, MINIMIZE, INTEGER(minimize.dimension, "D", 2, 3), "dimension of lj"},
  {"param", 0, MINIMIZE, LIST(minimize.parameters, "NAME=VALUE"),
   "ept: c; pjb: e, b; odc, ssc: lambda; gl1: T; gl2: vortices, kappa; can be repeated"},
  {"bounds", 0, MINIMIZE, CHOICE(minimize.bounds, minimize_bounds),
   "those of the problem, [-1, 1] for every variable, or none"},
  {"memory", 'm', MINIMIZE, INTEGER(minimize.memory, "M", 1, CVTM_LBFGSB_MAX_HISTORY),
   "pairs of steps and gradient changes that are kept"},
  {"cauchy", 0, MINIMIZE, CHOICE(minimize.cauchy, cauchy_points),
   "generalized Cauchy point"},
  {"evaluations", 0, MINIMIZE, INTEGER(minimize.evaluations, "N", 0, 1e15),
   "maximum number of evaluations; 0: no limit"},
  {"gradient-tolerance", 0, MINIMIZE, REAL(run.gradient_tolerance, "G", 0, HUGE_VAL),
   "stop when no component of the projected gradient is larger; 0: when\n"
   "the decrease of the objective is rounding"},
  {"history", 0, MINIMIZE, FLAG(minimize.history),
   "write every iteration to the report"},

  {"example", 0, HLCP, INTEGER(hlcp.example, "N", 1, 3), "example 1, 2 or 3 of Mezzadri 2020"},
  {"size", 0, HLCP, INTEGER(hlcp.size, "H", 1, COUNT_MAX), "of the example: n = H^2"},
  {"matrix-a", 0, HLCP, TEXT(hlcp.matrix_a, "A.mtx"), "Matrix Market file", CLI_READS},
  {"matrix-b", 0, HLCP, TEXT(hlcp.matrix_b, "B.mtx"), "if omitted, the identity: an LCP", CLI_READS},
  {"rhs", 0, HLCP, TEXT(hlcp.rhs, "Q.npy"), "right side", CLI_READS},
  {"output-z", 0, HLCP, TEXT(hlcp.output_z, "Z.npy"), "write z, float64", CLI_WRITES},
  {"output-w", 0, HLCP, TEXT(hlcp.output_w, "W.npy"), "write w, float64", CLI_WRITES},
  {"method", 0, HLCP, CHOICE(hlcp.method, hlcp_methods),
   "multisplitting Jacobi, Gauss-Seidel, SOR, AOR; semismooth Newton"},
  {"splits", 0, HLCP, INTEGER(hlcp.splits, "L", -1e15, 1e15), "number of blocks; if omitted, chosen for the device"},
  {"alpha", 0, HLCP, REAL(hlcp.alpha, "A", 1e-9, HUGE_VAL), "of mmsor and mmaor"},
  {"beta", 0, HLCP, REAL(hlcp.beta, "B", 0, HUGE_VAL), "of mmsor and mmaor"},
  {"omega", 0, HLCP, TEXT(hlcp.omega, "W"),
   "a number, ratio (a_ii / b_ii) or an .npy of numbers; if omitted: the\n"
   "paper's for an example, else ratio", CLI_READS_OMEGA},
  {"gamma", 0, HLCP, REAL(hlcp.gamma, "G", -HUGE_VAL, HUGE_VAL), "scale of the modulus variable"},
  {"rule", 0, HLCP, CHOICE(hlcp.rule, hlcp_rules),
   "L_k: the lower part of the rows of block k, or of E_k A E_k"},
  {"split", 0, HLCP, CHOICE(hlcp.split, hlcp_splits), "split A and B, or A alone (B diagonal)"},
  {"start", 0, HLCP, REAL(hlcp.start, "X", -HUGE_VAL, HUGE_VAL), "every component of the first x"},
  {"iterations", 0, HLCP, INTEGER(run.iterations, "N", 0, 1e15), "most sweeps or Newton steps"},
  {"tolerance", 0, HLCP, REAL(run.tolerance, "T", 0, HUGE_VAL), "stop when ||A z - B w - q|| is less"},
  {"report", 0, HLCP | LCP | DENSITY | SEGMENT, TEXT(run.report, "FILE"), "write a JSON report; - is standard output", CLI_WRITES},
  {"device", 0, HLCP | LCP | DENSITY | SEGMENT, TEXT(device, "NAME"), "cpu, cuda, cuda:N or auto", CLI_NO_FILE, CLI_NO_EFFECT},
  {"threads", 0, HLCP | LCP | DENSITY | SEGMENT, INTEGER(run.threads, "N", 0, 4096), "CPU threads; 0: as many as there are cores", CLI_NO_FILE, CLI_NO_EFFECT},

  {"check", 0, VORONOI, FLAG(check), "compare with the exact diagram"},
  {"labels-from", 0, VORONOI, TEXT(warm.labels, "FILE"),
   "warm start: jump flooding from the labels (npy) that the sites had before they\n"
   "moved a little; checked, and corrected where something was missed", CLI_READS},
  {"first-step", 0, VORONOI, INTEGER(warm.first_step, "PIXELS", 0, CVTM_MAX_SIDE),
   "with --labels-from: how far the sites may have moved; 0: 0.3 spacings"},
  {"json", 0, STATS | INFO, FLAG(json), "print JSON"},

  {"problem", 0, LCP, CHOICE(lcp.problem, lcp_problems), "a model problem"},
  {"size", 0, LCP, INTEGER(lcp.size, "M", 1, COUNT_MAX), "nodes along a side"},
  {"width", 0, LCP, INTEGER(lcp.width, "W", 0, COUNT_MAX), "grid of the unknowns, with --height"},
  {"height", 0, LCP, INTEGER(lcp.height, "H", 0, COUNT_MAX), "a matrix without either has no grid"},
  {"mesh", 0, LCP, TEXT(lcp.mesh, "FILE"),
   "the problem on these triangles (formats of mesh files)", CLI_READS},
  {"load", 0, LCP, REAL(lcp.load, "C", 0, 1e12), "of --mesh; 0: 1 for membrane, 5 for torsion"},
  {"matrix", 0, LCP, TEXT(lcp.matrix, "A.mtx"), "Matrix Market file", CLI_READS},
  {"rhs", 0, LCP, TEXT(lcp.rhs, "B.npy"), "right side", CLI_READS},
  {"lower", 0, LCP, TEXT(lcp.lower, "L.npy"), "lower bounds; if omitted: none", CLI_READS},
  {"upper", 0, LCP, TEXT(lcp.upper, "U.npy"), "upper bounds; if omitted: none", CLI_READS},
  {"method", 0, LCP, CHOICE(lcp.method, lcp_methods),
   "auto: tnnmg for a symmetric matrix, else pdas"},
  {"storage", 0, LCP, CHOICE(lcp.is_matrix_free, lcp_storages),
   "of the matrix; matrix-free: model problems on grids"},
  {"omega", 0, LCP, REAL(lcp.omega, "W", -HUGE_VAL, HUGE_VAL), "relaxation of psor, between 0 and 2"},
  {"nested", 0, LCP, FLAG(lcp.nested), "start multigrid from coarser grids"},
  {"iterations", 0, LCP, INTEGER(run.iterations, "N", 0, 1e15), "most sweeps, cycles or steps; 0: 100000 sweeps of psor, else 200"},
  {"tolerance", 0, LCP, REAL(run.tolerance, "T", 0, 1 - 1e-9),
   "stop when the natural residual has fallen by this factor from its\n"
   "value at x = 0"},

  {"jobs", 'j', BATCH, INTEGER(batch.jobs, "N", 0, 256),
   "runs at a time on each device; 0: chosen for it", CLI_NO_FILE, CLI_NO_EFFECT},
  {"resume", 0, BATCH, FLAG(batch.resume), "do only the jobs that the journal does not list as done", CLI_NO_FILE, CLI_NO_EFFECT},
  {"fail-fast", 0, BATCH, FLAG(batch.fail_fast), "start no further run after a failure", CLI_NO_FILE, CLI_NO_EFFECT},
  {"journal", 0, BATCH, TEXT(batch.journal, "FILE"),
   "what was done; default: the list's name with .journal, or\n"
   "cvtmesh-batch.journal", CLI_WRITES, CLI_NO_EFFECT},
  {"shard", 0, BATCH, TEXT(batch.shard, "I/N"),
   "every Nth job from number I, I = 0 to N - 1; slurm: this task of an array", CLI_NO_FILE, CLI_NO_EFFECT},
  {"report", 0, BATCH, TEXT(batch.report, "FILE"),
   "write a JSON report of the batch; - is stdout", CLI_WRITES, CLI_NO_EFFECT},

  {"layers", 0, VIEW, TEXT(run.layers, "LIST"),
   "shown at the start, split by commas: density, cells, cell-edges, sites,\n"
   "mesh-edges, defects, boundary, plot, figures"},
  {"colour", 0, VIEW, CHOICE(view.colour, cell_fills), "of filled cells"},
  {"dark", 0, VIEW | RUN_ALONE, FLAG(run.dark), "light on a dark ground (--watch, view)"},
  {"size", 0, VIEW | RUN_ALONE, TEXT(view.size, "WxH"), "of the window or the pictures (--watch, view) [1280x800]"},
  {"paused", 0, VIEW, FLAG(view.paused), "begin with a pause"},
  {"script", 0, VIEW, TEXT(view.script, "FILE"), "do what FILE says: keys, mouse, waiting, pictures", CLI_READS},
  {"frames", 0, VIEW, INTEGER(view.frames, "N", 0, 1e9), "end after so many frames; 0: no limit"},
  {"shot", 0, VIEW, TEXT(view.shot, "FILE"), "no window: write the last frame as PNG", CLI_WRITES},
  {"record", 0, VIEW, TEXT(view.record, "DIR"), "no window: write every frame into DIR", CLI_WRITES_FRAMES},
  {"save", 0, VIEW, TEXT(view.save, "NAME"), "S writes NAME.png, NAME.csv, NAME.obj", CLI_WRITES_NAMES},
  {"pinned", 0, VIEW, FLAG(view.pinned), "no CUDA-OpenGL interop: copy through pinned memory", CLI_NO_FILE, CLI_NO_EFFECT},
  {"watch", 0, RUN_ALONE, TEXT(view.watch, "DIR"),
   "pictures of the optimisation, and a page DIR/index.html with them", CLI_WRITES_FRAMES},
  {"every", 0, RUN_ALONE, INTEGER(view.every, "K", 1, 1e9), "iterations between two pictures of --watch"},

  {"device", 0, RUN_ALONE, TEXT(device, "NAME"),
   "cpu, cuda, cuda:N, auto, or cuda:all: a process for each GPU", CLI_NO_FILE, CLI_NO_EFFECT},
  {"device", 0, VORONOI | STATS | VIEW | MINIMIZE, TEXT(device, "NAME"),
   "cpu, cuda, cuda:N or auto", CLI_NO_FILE, CLI_NO_EFFECT},
  {"device", 0, MESH, TEXT(device, "NAME"),
   "cpu, cuda, cuda:N, or auto: CUDA for half a million points and more", CLI_NO_FILE, CLI_NO_EFFECT},
  {"device", 0, BATCH, TEXT(device, "NAMES"),
   "auto, cpu, cuda, cuda:N, several of them split by commas, or all", CLI_NO_FILE, CLI_NO_EFFECT},
  {"threads", 0, RUN | VORONOI | STATS | VIEW | MINIMIZE, INTEGER(run.threads, "N", 0, 4096),
   "CPU threads; 0: as many as there are cores", CLI_NO_FILE, CLI_NO_EFFECT},
  {"config", 0, CLI_EVERY_COMMAND, TEXT(config, "FILE"),
   "read options from FILE: lines `name = value`; the command line wins", CLI_READS, CLI_NO_EFFECT},
  {"quiet", 'q', CLI_EVERY_COMMAND, FLAG(quiet), "no progress and no summary", CLI_NO_FILE, CLI_NO_EFFECT},
  {"verbose", 'v', CLI_EVERY_COMMAND, FLAG(verbose), "a line for every iteration", CLI_NO_FILE, CLI_NO_EFFECT},
  {"help", 'h', CLI_EVERY_COMMAND, FLAG(help), "print the chief options; --help all: every one", CLI_NO_FILE, CLI_NO_EFFECT},
  {"version", 'V', CLI_EVERY_COMMAND, FLAG(version), "print the version", CLI_NO_FILE, CLI_NO_EFFECT},
};
/* clang-format on */
#pragma GCC diagnostic pop

enum { ROW_COUNT = sizeof cli_option_rows / sizeof cli_option_rows[0] };
_Static_assert((int)ROW_COUNT <= (int)CLI_OPTIONS_MAX, "cli_options.given is too small");

const int cli_option_row_count = ROW_COUNT;

int cli_option_applies(int row, cli_command command) {
  return (cli_option_rows[row].commands & IN(command)) != 0;
}

void *cli_option_field(const cli_option_row *row, cli_options *options) {
  return (char *)options + row->offset;
}

const void *cli_option_field_const(const cli_option_row *row, const cli_options *options) {
  return (const char *)options + row->offset;
}

int cli_option_find(cli_command command, const char *name) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (cli_option_applies(row, command) && strcmp(cli_option_rows[row].name, name) == 0)
      return row;
  return -1;
}

int cli_option_find_field(cli_command command, size_t offset) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (cli_option_applies(row, command) && cli_option_rows[row].offset == offset) return row;
  return -1;
}
