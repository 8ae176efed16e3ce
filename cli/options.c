#define _POSIX_C_SOURCE 200809L

#include "cli/options.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cvt/cvt.h"
#include "density/condition.h"
#include "density/density.h"
#include "density/segment.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"
#include "meshes/mesh_file.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_type { FLAG, INTEGER, REAL, CHOICE, TEXT, LIST } option_type;

/* What the text of an option is to the files; of a LIST each of its texts. */
typedef enum file_role {
  NO_FILE,
  READS,
  READS_REGION, /* a file or `alpha` */
  READS_WEIGHT, /* FILE=FACTOR, FILE a file or `alpha` */
  READS_CURVE,  /* a file, `grow`, `image` or X,Y,R */
  READS_OMEGA,  /* a file, `ratio` or a number */
  WRITES,
  WRITES_NAMES,
  WRITES_FRAMES
} file_role;

/* Whether the option changes what a command writes, or where. */
typedef enum option_effect { ON_RESULT, NO_EFFECT } option_effect;

typedef struct option_row {
  const char *name;
  char letter;       /* 0: none */
  unsigned commands; /* bits, 1u << cli_command */
  option_type type;
  size_t offset;        /* in cli_options */
  const char *argument; /* its name in --help; of a CHOICE the values, split by | */
  double least, most;   /* of INTEGER and REAL */
  const char *help;
  file_role file;
  option_effect effect;
} option_row;

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
#define BENCH IN(CLI_BENCH)
#define HLCP IN(CLI_HLCP)
#define LCP IN(CLI_LCP)
#define DENSITY IN(CLI_DENSITY)
#define SEGMENT IN(CLI_SEGMENT)
#define EVERY (~0u)
#define AT(field) offsetof(cli_options, field)
#define COUNT_MAX 2147483647.0
#define SEED_MAX 9007199254740992.0 /* 2^53, what every JSON reader keeps */
#define SVG_KINDS "stipples|cells|mesh"
#define VORONOI_METHODS "jfa|1+jfa|jfa+1|jfa+2|jfa2|jfa-short|exact"

/* Most rows leave out the last two columns: NO_FILE, ON_RESULT. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
/* clang-format off */
static const option_row rows[] = {
  {"points", 'n', RUN | VIEW, INTEGER, AT(points), "N", 1, COUNT_MAX, "number of sites"},
  {"output", 'o', RUN | VORONOI | MESH | VIEW | MINIMIZE | LCP | DENSITY | SEGMENT, LIST, AT(output), "FILE", 0, 0,
   "write FILE, in the format of its extension; repeats; - is stdout", WRITES},
  {"format", 0, RUN | VORONOI | MESH | VIEW | MINIMIZE | LCP | DENSITY | SEGMENT, TEXT, AT(format), "EXT", 0, 0,
   "extension that stands for the output -"},
  {"picture", 0, RUN, TEXT, AT(picture), "FILE", 0, 0, "draw density, cells, edges and sites as PNG", WRITES},
  {"layers", 0, RUN | MESH, TEXT, AT(layers), "LIST", 0, 0,
   "of a picture, split by commas: density, cells, cell-edges, triangles,\n"
   "mesh-edges, sites, stipples"},
  {"picture-size", 0, RUN | MESH | VIEW, INTEGER, AT(picture_size), "PIXELS", 0, 16384,
   "longer side of a picture; 0: chosen from the spacing of the sites"},
  {"density-out", 0, RUN, TEXT, AT(density_out), "FILE", 0, 0,
   "write the density that was used as NPY, float32, height x width", WRITES},
  {"report", 0, RUN_ALONE | VORONOI | MESH | MINIMIZE, TEXT, AT(report), "FILE", 0, 0,
   "write a JSON report; - is stdout", WRITES},
  {"run-report", 0, BATCH, TEXT, AT(report), "FILE", 0, 0, "write a JSON report of each run", WRITES},
  {"svg", 0, RUN | MESH | VIEW, CHOICE, AT(svg), SVG_KINDS, 0, 0, "what an SVG output shows"},
  {"dots", 0, RUN, CHOICE, AT(dots), "equal|mass", 0, 0,
   "stipples of one size, or of an area that follows the cell's mass"},
  {"unit", 0, RUN | MESH | STATS | VIEW, FLAG, AT(unit), NULL, 0, 0,
   "mesh coordinates are divided by the width of the image"},
  {"ascii", 0, RUN | MESH | VIEW, FLAG, AT(ascii), NULL, 0, 0, "text where a mesh format has a binary form too"},

  {"method", 0, RUN | VIEW, CHOICE, AT(method), "lloyd|lbfgsb", 0, 0, "how the energy is minimised"},
  {"method", 0, VORONOI, CHOICE, AT(voronoi), VORONOI_METHODS, 0, 0, "how the diagram is computed"},
  {"energy", 0, RUN | VIEW, CHOICE, AT(energy), "exact|pixel", 0, 0,
   "objective: integrals over polygonal cells, or sums over pixels"},
  {"voronoi", 0, RUN | VIEW, CHOICE, AT(voronoi), VORONOI_METHODS, 0, 0, "diagram of the pixel energy"},
  {"iterations", 0, RUN | VIEW | MINIMIZE | BENCH, INTEGER, AT(iterations), "N", 0, 1e15, "most iterations; 0 keeps the start"},
  {"tolerance", 0, RUN | VIEW | MINIMIZE, REAL, AT(tolerance), "T", 0, 1,
   "stop at this mean relative decrease over 10 iterations; 0: never"},
  {"gradient-tolerance", 0, RUN | VIEW, REAL, AT(gradient_tolerance), "PIXELS", 0, HUGE_VAL,
   "stop when every site is this near its centroid; 0: never"},
  {"time-limit", 0, RUN | VIEW | MINIMIZE | BENCH, REAL, AT(time_limit), "SECONDS", 0, HUGE_VAL,
   "stop optimising after this time; 0: never"},
  {"seed", 0, RUN | VIEW, INTEGER, AT(seed), "N", 0, SEED_MAX, "of the random start; same seed, same files"},
  {"start", 0, RUN | VIEW, CHOICE, AT(start), "random|stratified", 0, 0, "how the first sites are sampled"},
  {"effort", 0, RUN, CHOICE, AT(effort), "low|normal|high", 0, 0,
   "descent from sampled sites; from coarse to fine; then also many moves of sites from where\n"
   "they are too many to where they are too few, which takes several times as long"},
  {"reseed", 0, RUN, FLAG, AT(reseed), NULL, 0, 0,
   "sites whose cells have no mass move to where they are needed"},
  {"init", 0, RUN | VIEW, TEXT, AT(init), "FILE", 0, 0, "start from the points of FILE (csv, npy, xyz)", READS},
  {"fixed", 0, RUN | VIEW, TEXT, AT(fixed), "FILE", 0, 0,
   "sites that do not move; they come first and count among the N", READS},
  {"periodic", 0, RUN | VORONOI | STATS | VIEW, FLAG, AT(periodic), NULL, 0, 0, "opposite sides are glued: a torus"},

  {"equal-mass", 0, RUN, FLAG, AT(equal_mass.on), NULL, 0, 0,
   "cells of equal mass: weighted cells (a power diagram); the density of the\n"
   "sites follows the image's, which is then tone, value or value^-2"},
  {"mass-tolerance", 0, RUN, REAL, AT(equal_mass.tolerance), "T", 1e-13, 1,
   "of --equal-mass: the largest relative deviation of a cell's mass"},
  {"weights-out", 0, RUN, TEXT, AT(equal_mass.weights_out), "FILE", 0, 0,
   "of --equal-mass: write the weights of the sites as NPY, float64", WRITES},

  {"domain", 0, RUN, CHOICE, AT(domain.kind), "none|image|mask|polygon|labels|segment", 0, 0,
   "mesh a domain and keep its boundary: what is dark in the image (bright with\n"
   "--invert), or what a file holds; none: all sites are free"},
  {"mask", 0, RUN, TEXT, AT(domain.mask), "IMAGE", 0, 0, "domain: alpha if the image has any, else what is bright", READS},
  {"polygon", 0, RUN, TEXT, AT(domain.polygon), "FILE", 0, 0, "domain: polygons with holes (svg, geojson, csv)", READS},
  {"labels", 0, RUN, TEXT, AT(domain.labels), "IMAGE", 0, 0,
   "domain: a region for each grey level (or number of an NPY) but 0", READS},
  {"domain-smooth", 0, RUN, REAL, AT(domain.smooth), "SIGMA", 0, 100,
   "of an image or a mask: smooth the ragged contours of photographs, in pixels"},
  {"domain-smallest", 0, RUN, REAL, AT(domain.smallest), "AREA", 0, 1e12,
   "leave out islands and holes of less than so many square pixels"},
  {"boundary", 0, RUN, CHOICE, AT(domain.sliding), "locked|sliding", 0, 0,
   "sites on the boundary keep their places, or move along it to lower energy"},
  {"boundary-tolerance", 0, RUN, REAL, AT(domain.tolerance), "PIXELS", 0.01, 100,
   "edges may bend away from the contour of the domain by so much"},

  {"density", 0, STATS, TEXT, AT(density), "IMAGE", 0, 0, "also the energy ratio for this density", READS},
  {"invert", 0, RUN | STATS | VIEW | DENSITY, FLAG, AT(invert), NULL, 0, 0, "bright is dense"},
  {"gamma", 0, RUN | STATS | VIEW | DENSITY, REAL, AT(gamma), "G", 1e-6, 1e6, "the tone is raised to this power first"},
  {"density-from", 0, RUN | STATS | VIEW | DENSITY, CHOICE, AT(density_from), "auto|tone|density|size", 0, 0,
   "density = tone^2, value, or value^-4; auto: tone for pictures"},
  {"floor", 0, RUN | STATS | VIEW | DENSITY, REAL, AT(floor), "RHO", 0, 3e38, "raise smaller densities to this"},

  {"within", 0, RUN | DENSITY, LIST, AT(condition.within), "FILE", 0, 0,
   "no density outside: an image (what is bright), polygons (svg, geojson, csv),\n"
   "or alpha for the picture's own alpha channel; repeats: where all overlap", READS_REGION},
  {"obstacle", 0, RUN | DENSITY, LIST, AT(condition.obstacle), "FILE", 0, 0,
   "no density here, and no smoothing through it; as --within; repeats", READS_REGION},
  {"weight", 0, RUN | DENSITY, LIST, AT(condition.weight), "FILE=FACTOR", 0, 0,
   "multiply the density of a region; as --within; repeats", READS_WEIGHT},
  {"smooth", 0, RUN | DENSITY, REAL, AT(condition.smooth), "LAMBDA", 0, 1e12,
   "smooth the density, over about sqrt(LAMBDA) pixels; 0: not at all"},
  {"bias", 0, RUN | DENSITY, REAL, AT(condition.bias), "P", 1e-9, 1 - 1e-9,
   "of --smooth: below 1/2 the result stays rather above the density, beyond rather below"},
  {"bias-method", 0, RUN | DENSITY, CHOICE, AT(condition.bias_method), "mmj|mmgs|mmsor|mmaor|newton", 0, 0,
   "multisplitting sweeps, or semismooth Newton with multigrid"},
  {"grade", 0, RUN | DENSITY, REAL, AT(condition.grade), "LAMBDA", 0, 1e12,
   "the smoothest density that is nowhere below the image's; 0: not at all"},
  {"grade-max", 0, RUN | DENSITY, REAL, AT(condition.grade_max), "RHO", 0, HUGE_VAL,
   "grading goes no higher than this where the image does not; 0: any height"},
  {"grade-size", 0, RUN | DENSITY, REAL, AT(condition.grade_size), "G", 0, 1e6,
   "sizes (density^-1/4) grow by at most G per pixel; 0: any slope"},

  {"segment", 0, RUN | DENSITY, FLAG, AT(segment.on), NULL, 0, 0,
   "no density outside the object that the seeds mark, see cvtmesh segment"},
  {"inside", 0, RUN | DENSITY | SEGMENT, LIST, AT(segment.inside), "X,Y,R", 0, 0,
   "a disc that belongs to the object, in pixels; repeats"},
  {"outside", 0, RUN | DENSITY | SEGMENT, LIST, AT(segment.outside), "X,Y,R", 0, 0,
   "a disc that does not; repeats"},
  {"seeds", 0, RUN | DENSITY | SEGMENT, TEXT, AT(segment.seeds), "IMAGE", 0, 0,
   "white is inside, black outside, grey or transparent neither; data: by sign", READS},
  {"initial", 0, RUN | DENSITY | SEGMENT, TEXT, AT(segment.initial), "WHAT", 0, 0,
   "the first curve: grow (from the seeds up to edges), image (its border),\n"
   "X,Y,R (a circle) or a file as for --within of cvtmesh density", READS_CURVE},
  {"sigma", 0, RUN | DENSITY | SEGMENT, REAL, AT(segment.sigma), "PIXELS", 0, 1000,
   "the image is smoothed by this first"},
  {"k", 0, RUN | DENSITY | SEGMENT, REAL, AT(segment.k), "K", 0, 1e12,
   "how much edges hold the curve: 1 / (1 + K |grad I|^2) on the unit square"},
  {"tau", 0, RUN | DENSITY | SEGMENT, REAL, AT(segment.tau), "T", 1e-12, 1e6, "step in time"},
  {"steps", 0, RUN | DENSITY | SEGMENT, INTEGER, AT(segment.steps), "N", 0, 1e6, "most steps"},
  {"tolerance", 0, SEGMENT, REAL, AT(segment.tolerance), "T", 0, HUGE_VAL,
   "stop when a step changes the level set by less (root mean square)"},

  {"width", 0, VORONOI | MESH | STATS | VIEW, INTEGER, AT(width), "W", 0, CVTM_MAX_SIDE,
   "of the domain; 0: from the points"},
  {"height", 0, VORONOI | MESH | STATS | VIEW, INTEGER, AT(height), "H", 0, CVTM_MAX_SIDE,
   "of the domain; 0: from the points"},
  {"nx", 0, MINIMIZE, INTEGER, AT(minimize.nx), "N", 1, 1e15, "interior nodes across [200; gl2: 100]"},
  {"ny", 0, MINIMIZE, INTEGER, AT(minimize.ny), "N", 1, 1e15, "interior nodes up [200; gl2: 100]"},
  {"n", 0, MINIMIZE, INTEGER, AT(minimize.n), "N", 1, 1e15, "variables of gl1 [40000]"},
  {"atoms", 0, MINIMIZE, INTEGER, AT(minimize.atoms), "N", 1, 1e15, "atoms of lj [20000]"},
  {"dim", 0, MINIMIZE, INTEGER, AT(minimize.dimension), "D", 2, 3, "dimension of lj"},
  {"param", 0, MINIMIZE, LIST, AT(minimize.parameters), "NAME=VALUE", 0, 0,
   "ept: c; pjb: e, b; odc, ssc: lambda; gl1: T; gl2: vortices, kappa; repeats"},
  {"bounds", 0, MINIMIZE, CHOICE, AT(minimize.bounds), "natural|box|none", 0, 0,
   "those of the problem, [-1, 1] for every variable, or none"},
  {"memory", 'm', MINIMIZE, INTEGER, AT(minimize.memory), "M", 1, CVTM_LBFGSB_MAX_HISTORY,
   "pairs of steps and gradient changes that are kept"},
  {"precision", 0, MINIMIZE, CHOICE, AT(minimize.precision), "double|single", 0, 0,
   "of these pairs"},
  {"cauchy", 0, MINIMIZE, CHOICE, AT(minimize.cauchy), "approximate|exact", 0, 0,
   "generalized Cauchy point"},
  {"evaluations", 0, MINIMIZE, INTEGER, AT(minimize.evaluations), "N", 0, 1e15,
   "most evaluations; 0: any number"},
  {"gradient-tolerance", 0, MINIMIZE, REAL, AT(gradient_tolerance), "G", 0, HUGE_VAL,
   "stop when no component of the projected gradient is larger; 0: when\n"
   "neither it nor the objective gets smaller"},
  {"history", 0, MINIMIZE, FLAG, AT(minimize.history), NULL, 0, 0,
   "put every iteration into the report"},
  {"size-limit", 0, BENCH, INTEGER, AT(size_limit), "N", 0, 1e15,
   "leave out larger sizes, or shrink the problems to this; 0: no limit"},

  {"example", 0, HLCP, INTEGER, AT(hlcp.example), "N", 1, 3, "example 1, 2 or 3 of Mezzadri 2020"},
  {"problem", 0, HLCP, CHOICE, AT(hlcp.problem), "bearing", 0, 0, "a journal bearing with cavitation"},
  {"size", 0, HLCP, INTEGER, AT(hlcp.size), "H", 1, COUNT_MAX,
   "of the example (n = H^2) [256] or the bearing's nodes [1024]"},
  {"mu", 0, HLCP, REAL, AT(hlcp.mu), "MU", -HUGE_VAL, HUGE_VAL, "added to the diagonal of A, examples 2 and 3"},
  {"nu", 0, HLCP, REAL, AT(hlcp.nu), "NU", -HUGE_VAL, HUGE_VAL, "added to the diagonal of B, examples 2 and 3"},
  {"eccentricity", 0, HLCP, REAL, AT(hlcp.eccentricity), "E", 0, 1 - 1e-9, "of the bearing"},
  {"supply", 0, HLCP, REAL, AT(hlcp.supply), "P", 0, HUGE_VAL, "pressure at the ends of the bearing"},
  {"matrix-a", 0, HLCP, TEXT, AT(hlcp.matrix_a), "A.mtx", 0, 0, "Matrix Market file", READS},
  {"matrix-b", 0, HLCP, TEXT, AT(hlcp.matrix_b), "B.mtx", 0, 0, "left out: the identity, an LCP", READS},
  {"rhs", 0, HLCP, TEXT, AT(hlcp.rhs), "Q.npy", 0, 0, "right side", READS},
  {"output-z", 0, HLCP, TEXT, AT(hlcp.output_z), "Z.npy", 0, 0, "write z, float64", WRITES},
  {"output-w", 0, HLCP, TEXT, AT(hlcp.output_w), "W.npy", 0, 0, "write w, float64", WRITES},
  {"method", 0, HLCP, CHOICE, AT(hlcp.method), "mmj|mmgs|mmsor|mmaor|newton", 0, 0,
   "multisplitting Jacobi, Gauss-Seidel, SOR, AOR; semismooth Newton"},
  {"splits", 0, HLCP, INTEGER, AT(hlcp.splits), "L", -1e15, 1e15, "blocks; left out: chosen for the device"},
  {"alpha", 0, HLCP, REAL, AT(hlcp.alpha), "A", 1e-9, HUGE_VAL, "of mmsor and mmaor"},
  {"beta", 0, HLCP, REAL, AT(hlcp.beta), "B", 0, HUGE_VAL, "of mmsor and mmaor"},
  {"omega", 0, HLCP, TEXT, AT(hlcp.omega), "W", 0, 0,
   "a number, ratio (a_ii / b_ii) or an .npy of numbers; left out: the\n"
   "paper's for an example, else ratio", READS_OMEGA},
  {"gamma", 0, HLCP, REAL, AT(hlcp.gamma), "G", -HUGE_VAL, HUGE_VAL, "scale of the modulus variable"},
  {"rule", 0, HLCP, CHOICE, AT(hlcp.rule), "rows|block", 0, 0,
   "L_k: the lower part of the rows of block k, or of E_k A E_k"},
  {"split", 0, HLCP, CHOICE, AT(hlcp.split), "both|a", 0, 0, "split A and B, or A alone (B diagonal)"},
  {"weights", 0, HLCP, TEXT, AT(hlcp.weights), "E.mtx", 0, 0,
   "L x n: row k is the diagonal of E_k; left out: equal blocks", READS},
  {"start", 0, HLCP, REAL, AT(hlcp.start), "X", -HUGE_VAL, HUGE_VAL, "every component of the first x"},
  {"iterations", 0, HLCP, INTEGER, AT(iterations), "N", 0, 1e15, "most sweeps or Newton steps"},
  {"tolerance", 0, HLCP, REAL, AT(tolerance), "T", 0, HUGE_VAL, "stop when ||A z - B w - q|| is less"},
  {"check", 0, HLCP, FLAG, AT(check), NULL, 0, 0, "warn where the convergence theory does not hold"},
  {"suggest", 0, HLCP, FLAG, AT(hlcp.suggest), NULL, 0, 0, "try some alpha and omega by a few sweeps each"},
  {"report", 0, HLCP | LCP | DENSITY | SEGMENT, TEXT, AT(report), "FILE", 0, 0, "write a JSON report; - is stdout", WRITES},
  {"device", 0, HLCP | LCP | DENSITY | SEGMENT, TEXT, AT(device), "NAME", 0, 0, "cpu, cuda, cuda:N or auto", NO_FILE, NO_EFFECT},
  {"threads", 0, HLCP | LCP | DENSITY | SEGMENT, INTEGER, AT(threads), "N", 0, 4096, "CPU threads; 0: as many as there are cores", NO_FILE, NO_EFFECT},

  {"check", 0, VORONOI, FLAG, AT(check), NULL, 0, 0, "compare with the exact diagram"},
  {"labels-from", 0, VORONOI, TEXT, AT(warm.labels), "FILE", 0, 0,
   "warm start: jump flooding from the labels (npy) that the sites had before they\n"
   "moved a little; checked, and corrected where something was missed", READS},
  {"first-step", 0, VORONOI, INTEGER, AT(warm.first_step), "PIXELS", 0, CVTM_MAX_SIDE,
   "with --labels-from: how far the sites may have moved; 0: 0.3 spacings"},
  {"json", 0, STATS | INFO, FLAG, AT(json), NULL, 0, 0, "print JSON"},

  {"problem", 0, LCP, CHOICE, AT(lcp.problem), "membrane|torsion|hemisphere|put|pjb", 0, 0, "a model problem"},
  {"size", 0, LCP, INTEGER, AT(lcp.size), "M", 1, COUNT_MAX, "nodes along a side; intervals of put"},
  {"width", 0, LCP, INTEGER, AT(lcp.width), "W", 0, COUNT_MAX, "grid of the unknowns, with --height"},
  {"height", 0, LCP, INTEGER, AT(lcp.height), "H", 0, COUNT_MAX, "a matrix without either has no grid"},
  {"steps", 0, LCP, INTEGER, AT(lcp.steps), "K", 1, COUNT_MAX, "time steps of put"},
  {"matrix", 0, LCP, TEXT, AT(lcp.matrix), "A.mtx", 0, 0, "Matrix Market file", READS},
  {"rhs", 0, LCP, TEXT, AT(lcp.rhs), "B.npy", 0, 0, "right side", READS},
  {"lower", 0, LCP, TEXT, AT(lcp.lower), "L.npy", 0, 0, "lower bounds; left out: none", READS},
  {"upper", 0, LCP, TEXT, AT(lcp.upper), "U.npy", 0, 0, "upper bounds; left out: none", READS},
  {"method", 0, LCP, CHOICE, AT(lcp.method),
   "auto|psor|projected-multigrid|monotone|truncated|tnnmg|pdas", 0, 0,
   "auto: tnnmg for a symmetric matrix, else pdas"},
  {"storage", 0, LCP, CHOICE, AT(lcp.is_matrix_free), "sparse|matrix-free", 0, 0,
   "of the matrix; matrix-free: five-point model problems"},
  {"omega", 0, LCP, REAL, AT(lcp.omega), "W", -HUGE_VAL, HUGE_VAL, "relaxation of psor, between 0 and 2"},
  {"nested", 0, LCP, FLAG, AT(lcp.nested), NULL, 0, 0, "start multigrid from coarser grids"},
  {"iterations", 0, LCP, INTEGER, AT(iterations), "N", 0, 1e15, "most sweeps, cycles or steps; 0: 100000 sweeps of psor, else 200"},
  {"tolerance", 0, LCP, REAL, AT(tolerance), "T", 0, 1 - 1e-9,
   "stop when the natural residual has fallen by this factor from its\n"
   "value at x = 0"},

  {"jobs", 'j', BATCH, INTEGER, AT(batch.jobs), "N", 0, 256,
   "runs at a time on each device; 0: chosen for it", NO_FILE, NO_EFFECT},
  {"resume", 0, BATCH, FLAG, AT(batch.resume), NULL, 0, 0, "do only what the journal lacks", NO_FILE, NO_EFFECT},
  {"fail-fast", 0, BATCH, FLAG, AT(batch.fail_fast), NULL, 0, 0, "start no further run after a failure", NO_FILE, NO_EFFECT},
  {"journal", 0, BATCH, TEXT, AT(batch.journal), "FILE", 0, 0,
   "what was done; default: the list's name with .journal, or\n"
   "cvtmesh-batch.journal", WRITES, NO_EFFECT},
  {"shard", 0, BATCH, TEXT, AT(batch.shard), "I/N", 0, 0,
   "every Nth job from number I, I = 0 to N - 1; slurm: this task of an array", NO_FILE, NO_EFFECT},
  {"report", 0, BATCH, TEXT, AT(batch.report), "FILE", 0, 0,
   "write a JSON report of the batch; - is stdout", WRITES, NO_EFFECT},

  {"layers", 0, VIEW, TEXT, AT(layers), "LIST", 0, 0,
   "shown at the start, split by commas: density, cells, cell-edges, sites,\n"
   "mesh-edges, defects, boundary, plot, figures"},
  {"colour", 0, VIEW, CHOICE, AT(view.colour), "area|site|sides", 0, 0, "of filled cells"},
  {"dark", 0, VIEW | RUN_ALONE, FLAG, AT(view.dark), NULL, 0, 0, "light on a dark ground (--watch, view)"},
  {"size", 0, VIEW | RUN_ALONE, TEXT, AT(view.size), "WxH", 0, 0, "of the window or the pictures (--watch, view) [1280x800]"},
  {"paused", 0, VIEW, FLAG, AT(view.paused), NULL, 0, 0, "begin with a pause"},
  {"script", 0, VIEW, TEXT, AT(view.script), "FILE", 0, 0, "do what FILE says: keys, mouse, waiting, pictures", READS},
  {"frames", 0, VIEW, INTEGER, AT(view.frames), "N", 0, 1e9, "end after so many frames; 0: no limit"},
  {"shot", 0, VIEW, TEXT, AT(view.shot), "FILE", 0, 0, "no window: write the last frame as PNG", WRITES},
  {"record", 0, VIEW, TEXT, AT(view.record), "DIR", 0, 0, "no window: write every frame into DIR", WRITES_FRAMES},
  {"save", 0, VIEW, TEXT, AT(view.save), "NAME", 0, 0, "S writes NAME.png, NAME.csv, NAME.obj", WRITES_NAMES},
  {"pinned", 0, VIEW, FLAG, AT(view.pinned), NULL, 0, 0, "no CUDA-OpenGL interop: copy through pinned memory", NO_FILE, NO_EFFECT},
  {"watch", 0, RUN_ALONE, TEXT, AT(view.watch), "DIR", 0, 0,
   "pictures of the optimisation, and a page DIR/index.html with them", WRITES_FRAMES},
  {"every", 0, RUN_ALONE, INTEGER, AT(view.every), "K", 1, 1e9, "iterations between two pictures of --watch"},

  {"device", 0, RUN_ALONE | VORONOI | STATS | VIEW | MINIMIZE | BENCH, TEXT, AT(device), "NAME", 0, 0,
   "cpu, cuda, cuda:N or auto", NO_FILE, NO_EFFECT},
  {"device", 0, BATCH, TEXT, AT(device), "NAMES", 0, 0,
   "auto, cpu, cuda, cuda:N, several of them split by commas, or all", NO_FILE, NO_EFFECT},
  {"threads", 0, RUN | VORONOI | STATS | VIEW | MINIMIZE | BENCH, INTEGER, AT(threads), "N", 0, 4096,
   "CPU threads; 0: as many as there are cores", NO_FILE, NO_EFFECT},
  {"config", 0, EVERY, TEXT, AT(config), "FILE", 0, 0,
   "read options from FILE: lines `name = value`; the command line wins", READS, NO_EFFECT},
  {"quiet", 'q', EVERY, FLAG, AT(quiet), NULL, 0, 0, "no progress and no summary", NO_FILE, NO_EFFECT},
  {"verbose", 'v', EVERY, FLAG, AT(verbose), NULL, 0, 0, "a line for every iteration", NO_FILE, NO_EFFECT},
  {"help", 'h', EVERY, FLAG, AT(help), NULL, 0, 0, "print this", NO_FILE, NO_EFFECT},
  {"version", 0, EVERY, FLAG, AT(version), NULL, 0, 0, "print the version", NO_FILE, NO_EFFECT},
};
/* clang-format on */
#pragma GCC diagnostic pop

enum { ROW_COUNT = sizeof rows / sizeof rows[0], FIRST_CODE = 256 };
enum { GIVEN = 1, INHERITED = 2 }; /* cli_options.given */
_Static_assert((int)ROW_COUNT <= (int)CLI_OPTIONS_MAX, "cli_options.given is too small");

static const struct {
  const char *name, *operand, *usage, *summary;
} commands[] = {
#define CLI_COMMAND_ROW(code, function, name, operand, usage, summary) \
  {name, operand, usage, summary},
    CLI_COMMAND_LIST(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW
};

const char *cli_command_name(cli_command command) { return commands[command].name; }

cli_command cli_command_find(const char *name) {
  int command = 0;
  while (command < CLI_COMMAND_COUNT && strcmp(name, commands[command].name) != 0) ++command;
  return (cli_command)command;
}

static int row_applies(int row, cli_command command) {
  return (rows[row].commands & IN(command)) != 0;
}

/* The row of an option of this subcommand, or -1. */
static int find_row(cli_command command, const char *name) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (row_applies(row, command) && strcmp(rows[row].name, name) == 0) return row;
  return -1;
}

static int known_elsewhere(const char *name) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (strcmp(rows[row].name, name) == 0) return 1;
  return 0;
}

/* The optimiser runs until nothing gets smaller. */
static void set_minimize_defaults(cli_options *options) {
  cvtm_lbfgsb_options lbfgsb;
  cvtm_lbfgsb_defaults(&lbfgsb);
  options->iterations = 20000;
  options->tolerance = lbfgsb.decrease_tolerance;
  options->gradient_tolerance = lbfgsb.gradient_tolerance;
  options->minimize.memory = lbfgsb.history;
  options->minimize.cauchy = (int)lbfgsb.cauchy;
  options->minimize.dimension = 2;
}

static void set_hlcp_defaults(cli_options *options) {
  cvtm_hlcp_options hlcp;
  cvtm_hlcp_defaults(&hlcp);
  options->iterations = hlcp.max_iterations;
  options->tolerance = hlcp.tolerance;
  options->hlcp.method = (int)hlcp.method;
  options->hlcp.alpha = hlcp.alpha;
  options->hlcp.beta = hlcp.beta;
  options->hlcp.gamma = hlcp.gamma;
  options->hlcp.start = hlcp.start;
  options->hlcp.nu = 4;
  options->hlcp.eccentricity = 0.5;
  options->hlcp.supply = 0.1;
}

static void set_lcp_defaults(cli_options *options) {
  cvtm_lcp_options lcp;
  cvtm_lcp_defaults(&lcp);
  options->tolerance = lcp.tolerance;
  options->iterations = lcp.max_iterations;
  options->lcp.size = 255;
  options->lcp.steps = 256;
  options->lcp.omega = lcp.omega;
  options->lcp.nested = lcp.nested;
}

static void set_condition_defaults(cli_options *options) {
  cvtm_condition_options condition;
  cvtm_condition_defaults(&condition);
  cvtm_segment_options segment;
  cvtm_segment_defaults(&segment);
  options->condition.bias = condition.bias;
  options->condition.bias_method = (int)condition.bias_method;
  options->segment.initial = "grow";
  options->segment.sigma = 1;
  options->segment.k = segment.k;
  options->segment.tau = segment.tau;
  options->segment.steps = segment.max_steps;
  options->segment.tolerance = segment.tolerance;
}

static void set_defaults(cli_command command, cli_options *options) {
  memset(options, 0, sizeof *options);
  cvtm_cvt_options cvt;
  cvtm_cvt_defaults(&cvt);
  cvtm_density_options density;
  cvtm_density_defaults(&density);
  options->command = command;
  options->format = command == CLI_RUN || command == CLI_BATCH || command == CLI_VIEW ? "csv"
                    : command == CLI_MESH                                             ? "obj"
                                                                                      : "npy";
  options->svg = command == CLI_MESH ? CVTM_SVG_MESH : CVTM_SVG_STIPPLES;
  options->method = (int)cvt.method;
  options->energy = (int)cvt.energy;
  options->voronoi = (int)CVTM_VORONOI_EXACT;
  options->start = (int)cvt.start;
  options->effort = (int)cvt.effort;
  options->iterations = cvt.max_iterations;
  options->tolerance = cvt.tolerance;
  options->gradient_tolerance = cvt.gradient_tolerance;
  options->time_limit = cvt.max_seconds;
  options->seed = 1;
  options->density_from = (int)density.from;
  options->gamma = density.gamma;
  options->floor = density.floor;
  options->equal_mass.tolerance = 1e-6;
  options->domain.smallest = 1;
  options->domain.tolerance = 0.3;
  options->device = "auto";
  set_condition_defaults(options);
  options->view.save = "cvtmesh-view";
  options->view.every = 10;
  if (command == CLI_VIEW) options->iterations = 1000000;
  if (command == CLI_MINIMIZE || command == CLI_BENCH) set_minimize_defaults(options);
  if (command == CLI_HLCP) set_hlcp_defaults(options);
  if (command == CLI_LCP) set_lcp_defaults(options);
}

/* Copies value number `index` of a list split by | into text; 0 if there is none. */
static int choice_text(const char *values, int index, char *text, size_t capacity) {
  while (index > 0) {
    values = strchr(values, '|');
    if (values == NULL) return 0;
    ++values;
    --index;
  }
  size_t length = strcspn(values, "|");
  if (length >= capacity) length = capacity - 1;
  memcpy(text, values, length);
  text[length] = '\0';
  return 1;
}

static int choice_index(const char *values, const char *wanted) {
  char text[32];
  for (int index = 0; choice_text(values, index, text, sizeof text); ++index)
    if (strcmp(text, wanted) == 0) return index;
  return -1;
}

static cvtm_status parse_integer(const option_row *row, const char *value, int64_t *number,
                                 cvtm_error *error) {
  char *end;
  errno = 0;
  long long parsed = strtoll(value, &end, 10);
  if (end == value || *end != '\0')
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not a whole number", row->name,
                     value);
  if (errno == ERANGE || (double)parsed < row->least || (double)parsed > row->most)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is not between %.0f and %.0f", row->name,
                     value, row->least, row->most);
  *number = parsed;
  return CVTM_OK;
}

static cvtm_status parse_real(const option_row *row, const char *value, double *number,
                              cvtm_error *error) {
  char *end;
  double parsed = strtod(value, &end);
  if (end == value || *end != '\0' || !isfinite(parsed))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not a number", row->name, value);
  if (parsed < row->least || parsed > row->most) {
    if (isinf(row->most))
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is less than %g", row->name, value,
                       row->least);
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is not between %g and %g", row->name,
                     value, row->least, row->most);
  }
  *number = parsed;
  return CVTM_OK;
}

/* Values of flags appear in config files alone. */
static cvtm_status parse_flag(const option_row *row, const char *value, int *flag,
                              cvtm_error *error) {
  int index = choice_index("false|no|off|0|true|yes|on|1", value);
  if (index < 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: '%s' is neither true nor false", row->name,
                     value);
  *flag = index >= 4;
  return CVTM_OK;
}

static cvtm_status set_option(cli_options *options, int index, const char *value,
                              cvtm_error *error) {
  const option_row *row = &rows[index];
  void *field = (char *)options + row->offset;
  if (row->type == LIST && options->given[index] == INHERITED) ((cli_list *)field)->count = 0;
  options->given[index] = GIVEN;
  switch (row->type) {
    case FLAG:
      return parse_flag(row, value, (int *)field, error);
    case INTEGER:
      return parse_integer(row, value, (int64_t *)field, error);
    case REAL:
      return parse_real(row, value, (double *)field, error);
    case CHOICE: {
      int choice = choice_index(row->argument, value);
      if (choice < 0)
        return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not one of %s", row->name,
                         value, row->argument);
      *(int *)field = choice;
      return CVTM_OK;
    }
    case TEXT:
    case LIST:
      break;
  }
  if (*value == '\0')
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: the value is empty", row->name);
  if (row->type == TEXT) {
    *(const char **)field = value;
    return CVTM_OK;
  }
  cli_list *list = field;
  if (list->count == CLI_LIST_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: more than %d of them", row->name,
                     CLI_LIST_MAX);
  list->item[list->count++] = value;
  return CVTM_OK;
}

static char *trim(char *text) {
  text += strspn(text, " \t\r");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) --length;
  text[length] = '\0';
  return text;
}

static cvtm_status config_line(cli_options *options, char *line, const char *path, int number,
                               cvtm_error *error) {
  char *text = trim(line);
  if (*text == '\0' || *text == '#') return CVTM_OK;
  char *equals = strchr(text, '=');
  if (equals == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: line %d: not of the form name = value", path,
                     number);
  *equals = '\0';
  const char *name = trim(text);
  const char *value = trim(equals + 1);
  int row = find_row(options->command, name);
  if (row < 0 && known_elsewhere(name)) return CVTM_OK; /* one file may serve all subcommands */
  if (row < 0 || rows[row].offset == AT(config) || rows[row].offset == AT(help) ||
      rows[row].offset == AT(version))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: line %d: unknown option '%s'", path, number,
                     name);
  cvtm_error detail;
  cvtm_status status = set_option(options, row, value, &detail);
  if (status == CVTM_OK) return CVTM_OK;
  return cvtm_fail(error, status, "%s: line %d: %.300s", path, number, detail.message);
}

static cvtm_status read_config(cli_options *options, const char *path, cvtm_error *error) {
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_file_read(path, 1 << 20, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  options->config_text = (char *)bytes;
  int number = 0;
  for (char *line = options->config_text; line != NULL && status == CVTM_OK;) {
    char *next = strchr(line, '\n');
    if (next != NULL) *next++ = '\0';
    status = config_line(options, line, path, ++number, error);
    line = next;
  }
  return status;
}

/* What getopt found, kept so that a config file can be applied first. */
typedef struct found_option {
  int row;
  const char *value;
} found_option;

typedef struct getopt_tables {
  char letters[4 * ROW_COUNT + 2];
  struct option names[2 * ROW_COUNT + 1];
  char negated[ROW_COUNT][32]; /* "no-" + name of each flag */
} getopt_tables;

static void build_tables(cli_command command, getopt_tables *tables) {
  size_t letters = 0;
  int names = 0;
  memset(tables, 0, sizeof *tables);
  tables->letters[letters++] = ':';
  for (int row = 0; row < ROW_COUNT; ++row) {
    if (!row_applies(row, command)) continue;
    const int has_value = rows[row].type != FLAG;
    struct option *entry = &tables->names[names++];
    entry->name = rows[row].name;
    entry->has_arg = has_value ? required_argument : no_argument;
    entry->val = FIRST_CODE + row;
    if (rows[row].letter != 0) {
      tables->letters[letters++] = rows[row].letter;
      if (has_value) tables->letters[letters++] = ':';
    }
    if (has_value) continue;
    snprintf(tables->negated[row], sizeof tables->negated[row], "no-%s", rows[row].name);
    entry = &tables->names[names++];
    entry->name = tables->negated[row];
    entry->has_arg = no_argument;
    entry->val = FIRST_CODE + ROW_COUNT + row;
  }
}

static int row_of_letter(cli_command command, int letter) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (row_applies(row, command) && rows[row].letter == letter) return row;
  return -1;
}

/* Fills found (room for an option in each character of argv) and leaves optind at the first
 * operand; -1 after a message. */
static int collect(cli_command command, int argc, char **argv, found_option *found) {
  getopt_tables tables;
  build_tables(command, &tables);
  int count = 0;
  opterr = 0;
  optind = 0; /* the C library forgets a word that it has not finished */
  for (;;) {
    int code = getopt_long(argc, argv, tables.letters, tables.names, NULL);
    if (code == -1) return count;
    if (code == ':') {
      cli_usage_error(command, "option '%s' needs a value", argv[optind - 1]);
      return -1;
    }
    if (code == '?') {
      if (optopt != 0 && optopt < FIRST_CODE)
        cli_usage_error(command, "unknown option '-%c'", optopt);
      else if (optopt != 0)
        cli_usage_error(command, "option '%s' takes no value", argv[optind - 1]);
      else
        cli_usage_error(command, "unknown or ambiguous option '%s'", argv[optind - 1]);
      return -1;
    }
    int row = code;
    const char *value = optarg != NULL ? optarg : "true";
    if (code < FIRST_CODE) {
      row = row_of_letter(command, code);
    } else if (code < FIRST_CODE + ROW_COUNT) {
      row = code - FIRST_CODE;
    } else {
      row = code - FIRST_CODE - ROW_COUNT;
      value = "false";
    }
    found[count].row = row;
    found[count].value = value;
    ++count;
  }
}

/* Applies what the command line gave; a list given there replaces the config file's. */
static cvtm_status apply(cli_options *options, const found_option *found, int count,
                         cvtm_error *error) {
  for (int k = 0; k < count; ++k)
    if (rows[found[k].row].type == LIST)
      ((cli_list *)(void *)((char *)options + rows[found[k].row].offset))->count = 0;
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < count && status == CVTM_OK; ++k)
    status = set_option(options, found[k].row, found[k].value, error);
  return status;
}

static cli_parsed parse_found(int argc, char **argv, cli_options *options,
                              const found_option *found, int count, int *exit_code) {
  const cli_command command = options->command;
  const char *config = NULL;
  for (int k = 0; k < count; ++k) {
    if (rows[found[k].row].offset == AT(help)) return CLI_PARSED_HELP;
    if (rows[found[k].row].offset == AT(version)) return CLI_PARSED_VERSION;
    if (rows[found[k].row].offset == AT(config)) config = found[k].value;
  }
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = CVTM_OK;
  if (config != NULL) {
    status = read_config(options, config, &error);
    if (status != CVTM_OK && status != CVTM_ERROR_ARGUMENT) {
      *exit_code = cli_failed(CLI_READING, status, &error);
      return CLI_PARSE_FAILED;
    }
  }
  if (status == CVTM_OK) status = apply(options, found, count, &error);
  if (status != CVTM_OK) {
    cli_usage_error(command, "%s", error.message);
    return CLI_PARSE_FAILED;
  }
  const int wanted = commands[command].operand[0] != '\0';
  const int operands = argc - optind;
  if (operands < wanted) {
    cli_usage_error(command, "%s is missing", commands[command].operand);
    return CLI_PARSE_FAILED;
  }
  if (operands > wanted) {
    cli_usage_error(command, "'%s' is one argument too many", argv[optind + wanted]);
    return CLI_PARSE_FAILED;
  }
  if (wanted) options->input = argv[optind];
  return CLI_PARSED;
}

cli_parsed cli_options_parse(cli_command command, int argc, char **argv, cli_options *options,
                             int *exit_code) {
  set_defaults(command, options);
  *exit_code = CLI_EXIT_USAGE;
  /* One word may hold several short options: no more than it has characters. */
  size_t most = 1;
  for (int k = 0; k < argc; ++k) most += strlen(argv[k]);
  found_option *found = calloc(most, sizeof *found);
  if (found == NULL) {
    cvtm_error error;
    cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory");
    *exit_code = cli_failed(CLI_WORKING, error.status, &error);
    return CLI_PARSE_FAILED;
  }
  int count = collect(command, argc, argv, found);
  cli_parsed parsed = CLI_PARSE_FAILED;
  if (count >= 0) parsed = parse_found(argc, argv, options, found, count, exit_code);
  free(found);
  return parsed;
}

void cli_options_free(cli_options *options) {
  free(options->config_text);
  options->config_text = NULL;
}

/* The row of this subcommand that sets the same field, or -1. */
static int find_field(cli_command command, size_t offset) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (row_applies(row, command) && rows[row].offset == offset) return row;
  return -1;
}

static cvtm_status inherit_field(const option_row *row, const cli_options *from, cli_text_map map,
                                 void *context, cli_options *options, cvtm_error *error) {
  const void *source = (const char *)from + row->offset;
  void *field = (char *)options + row->offset;
  switch (row->type) {
    case FLAG:
    case CHOICE:
      *(int *)field = *(const int *)source;
      return CVTM_OK;
    case INTEGER:
      *(int64_t *)field = *(const int64_t *)source;
      return CVTM_OK;
    case REAL:
      *(double *)field = *(const double *)source;
      return CVTM_OK;
    case TEXT:
      return map(context, *(const char *const *)source, field, error);
    case LIST:
      break;
  }
  const cli_list *list = source;
  cli_list *mapped = field;
  cvtm_status status = CVTM_OK;
  for (mapped->count = 0; mapped->count < list->count && status == CVTM_OK; ++mapped->count)
    status = map(context, list->item[mapped->count], &mapped->item[mapped->count], error);
  return status;
}

cvtm_status cli_options_inherit(cli_command command, const cli_options *from, cli_text_map map,
                                void *context, cli_options *options, cvtm_error *error) {
  set_defaults(command, options);
  cvtm_status status = CVTM_OK;
  for (int row = 0; row < ROW_COUNT && status == CVTM_OK; ++row) {
    if (!from->given[row] || rows[row].commands == EVERY) continue;
    const int own = find_field(command, rows[row].offset);
    if (own < 0) continue;
    options->given[own] = INHERITED;
    status = inherit_field(&rows[row], from, map, context, options, error);
  }
  return status;
}

/* The row of a name that may have _ between its words, or -1. */
static int find_spelled(cli_command command, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "%s", name);
  for (char *c = key; *c != '\0'; ++c)
    if (*c == '_') *c = '-';
  return strlen(name) < sizeof key ? find_row(command, key) : -1;
}

int cli_option_of_job(const char *name) {
  const int row = find_spelled(CLI_RUN, name);
  return row >= 0 && rows[row].effect == ON_RESULT && find_field(CLI_BATCH, rows[row].offset) >= 0;
}

int cli_option_affects_result(cli_command command, const char *name) {
  const int row = find_row(command, name);
  return row >= 0 && rows[row].effect == ON_RESULT;
}

cvtm_status cli_options_set(cli_options *options, const char *name, const char *value,
                            cvtm_error *error) {
  const int row = find_spelled(options->command, name);
  if (row < 0) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown option '%s'", name);
  return set_option(options, row, value, error);
}

int cli_option_given(const cli_options *options, const char *name) {
  int row = find_row(options->command, name);
  return row >= 0 && options->given[row];
}

/* "[300]", or "" where the default says nothing. */
static void default_text(const option_row *row, const cli_options *defaults, char *text,
                         size_t size) {
  const void *field = (const char *)defaults + row->offset;
  char choice[32];
  *text = '\0';
  switch (row->type) {
    case INTEGER:
      if (*(const int64_t *)field != 0 || row->least == 0)
        snprintf(text, size, "[%lld]", (long long)*(const int64_t *)field);
      break;
    case REAL:
      snprintf(text, size, "[%g]", *(const double *)field);
      break;
    case CHOICE:
      if (choice_text(row->argument, *(const int *)field, choice, sizeof choice))
        snprintf(text, size, "[%s]", choice);
      break;
    case TEXT:
      if (*(const char *const *)field != NULL)
        snprintf(text, size, "[%s]", *(const char *const *)field);
      break;
    case FLAG:
    case LIST:
      break;
  }
}

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

/* Prints words, each after a blank, from `column` on, and returns the column of the end. */
static int print_words(FILE *stream, const char *text, int column) {
  while (*text != '\0') {
    const int length = (int)strcspn(text, " \n");
    if (column + 1 + length > HELP_WIDTH) {
      fprintf(stream, "\n%*s", HELP_COLUMN, "");
      column = HELP_COLUMN;
    }
    fprintf(stream, " %.*s", length, text);
    column += 1 + length;
    text += length;
    text += strspn(text, " \n");
  }
  return column;
}

void cli_print_help(FILE *stream, cli_command command) {
  cli_options defaults;
  set_defaults(command, &defaults);
  const char *operand = commands[command].operand;
  fprintf(stream, "usage: cvtmesh %s%s%s%s [options]\n\n%s\n\noptions:\n", commands[command].name,
          *operand ? " " : "", operand, commands[command].usage, commands[command].summary);
  for (int row = 0; row < ROW_COUNT; ++row) {
    const option_row *o = &rows[row];
    if (!row_applies(row, command)) continue;
    char left[96];
    snprintf(left, sizeof left, "%c%c%c --%s%s%s", o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ', o->letter ? ',' : ' ', o->name, o->argument ? " " : "",
             o->argument ? o->argument : "");
    fprintf(stream, "  %-*s", HELP_COLUMN - 2, left);
    if (strlen(left) > HELP_COLUMN - 2) fprintf(stream, "\n%*s", HELP_COLUMN, "");
    char text[64];
    default_text(o, &defaults, text, sizeof text);
    print_words(stream, text, print_words(stream, o->help, HELP_COLUMN));
    fputc('\n', stream);
  }
  fputs("\n--no-NAME undoes the flag --NAME.", stream);
  if (command == CLI_BATCH)
    fputs(
        "\n\nJOBS is a list, .jsonl (one object of run's options in a line) or .csv (a header "
        "that\n"
        "names them), with `input` for the image; - reads JSON lines from stdin. Otherwise it is\n"
        "a glob of images, and file names among the options may hold {stem}, {name}, {ext},\n"
        "{dir} and {index}: cvtmesh batch 'in/*.png' -n 5000 -o 'out/{stem}.msh'",
        stream);
  if (command == CLI_RUN || command == CLI_BATCH || command == CLI_MESH)
    fputs(
        "\n\nOutputs: meshes obj off ply stl vtk vtu msh (y up); points csv npy xyz (pixels, y "
        "down);\n"
        "svg (see --svg); png (a picture, see --layers).",
        stream);
  if (command == CLI_RUN || command == CLI_BATCH)
    fprintf(stream, "\nInputs: %s.", cvtm_image_formats());
  if (command == CLI_VORONOI)
    fputs("\n\nOutputs: npy (int32, height x width), png and ppm (a colour for each site).",
          stream);
  fputc('\n', stream);
}

void cli_print_overview(FILE *stream) {
  fputs("usage: cvtmesh COMMAND [arguments]\n\ncommands:\n", stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    fprintf(stream, "  %-12s %s\n", commands[command].name, commands[command].summary);
  fprintf(stream, "  %-12s %s\n", "completion", "print shell completion: cvtmesh completion bash");
  fputs(
      "\n`cvtmesh COMMAND --help` lists a command's options; `cvtmesh --version` prints the "
      "version.\n",
      stream);
}

static void print_choice_words(FILE *stream, const char *values) {
  for (; *values != '\0'; ++values) fputc(*values == '|' ? ' ' : *values, stream);
}

static void print_command_case(FILE *stream, cli_command command) {
  fprintf(stream, "    %s)\n      case \"$previous\" in\n", commands[command].name);
  for (int row = 0; row < ROW_COUNT; ++row) {
    if (!row_applies(row, command) || rows[row].type != CHOICE) continue;
    fprintf(stream, "        --%s) words=\"", rows[row].name);
    print_choice_words(stream, rows[row].argument);
    fputs("\" ;;\n", stream);
  }
  fputs("        --device) words=\"auto cpu cuda\" ;;\n        *) words=\"", stream);
  for (int row = 0; row < ROW_COUNT; ++row)
    if (row_applies(row, command)) fprintf(stream, "--%s ", rows[row].name);
  fputs("\" ;;\n      esac ;;\n", stream);
}

void cli_print_bash_completion(FILE *stream) {
  fputs(
      "# bash completion for cvtmesh: source <(cvtmesh completion bash)\n"
      "_cvtmesh() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\n"
      "  case \"${COMP_WORDS[1]}\" in\n",
      stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    print_command_case(stream, (cli_command)command);
  fputs("    completion) words=bash ;;\n  esac\n  [ \"$COMP_CWORD\" -gt 1 ] || words=\"", stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    fprintf(stream, "%s ", commands[command].name);
  fputs(
      "completion --help --version\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _cvtmesh cvtmesh\n",
      stream);
}

void cli_options_visit(const cli_options *options, const cli_option_visitor *visitor) {
  for (int index = 0; index < ROW_COUNT; ++index) {
    const option_row *row = &rows[index];
    if (!row_applies(index, options->command)) continue;
    if (row->offset == AT(help) || row->offset == AT(version)) continue;
    const void *field = (const char *)options + row->offset;
    char text[32];
    switch (row->type) {
      case FLAG:
        visitor->flag(visitor->context, row->name, *(const int *)field);
        break;
      case INTEGER:
        visitor->integer(visitor->context, row->name, *(const int64_t *)field);
        break;
      case REAL:
        visitor->real(visitor->context, row->name, *(const double *)field);
        break;
      case CHOICE:
        choice_text(row->argument, *(const int *)field, text, sizeof text);
        visitor->text(visitor->context, row->name, text);
        break;
      case TEXT:
        visitor->text(visitor->context, row->name, *(const char *const *)field);
        break;
      case LIST:
        visitor->list(visitor->context, row->name, field);
        break;
    }
  }
}

/* --- files ------------------------------------------------------------------------------ */

int cli_numbers_parse(const char *text, int count, double *numbers) {
  for (int k = 0; k < count; ++k) {
    char *end;
    numbers[k] = strtod(text, &end);
    if (end == text || !isfinite(numbers[k]) || *end != (k + 1 < count ? ',' : '\0')) return 0;
    text = end + 1;
  }
  return 1;
}

int cli_weight_parse(const char *text, size_t *length, double *factor) {
  const char *equals = strrchr(text, '=');
  if (equals == NULL || equals == text) return 0;
  *length = (size_t)(equals - text);
  return cli_numbers_parse(equals + 1, 1, factor) && *factor >= 0;
}

/* The bytes of a text that name a file which is read; 0: it names none. */
static size_t length_of_name(file_role role, const char *text) {
  size_t length = strlen(text);
  double numbers[3];
  switch (role) {
    case READS_WEIGHT:
      if (!cli_weight_parse(text, &length, numbers)) return 0;
      return length == 5 && strncmp(text, "alpha", 5) == 0 ? 0 : length;
    case READS_REGION:
      return strcmp(text, "alpha") == 0 ? 0 : length;
    case READS_CURVE:
      if (strcmp(text, "grow") == 0 || strcmp(text, "image") == 0) return 0;
      return cli_numbers_parse(text, 3, numbers) ? 0 : length;
    case READS_OMEGA:
      if (strcmp(text, "ratio") == 0) return 0;
      return cli_numbers_parse(text, 1, numbers) ? 0 : length;
    default:
      return length;
  }
}

/* A name of PATH_MAX bytes or more names no file. */
static void visit_read(file_role role, const char *option, const char *text, void *context,
                       cli_file_visitor visitor) {
  char path[PATH_MAX];
  const size_t length = length_of_name(role, text);
  if (length == 0 || length >= sizeof path) return;
  memcpy(path, text, length);
  path[length] = '\0';
  visitor(context, CLI_FILE_READ, option, path);
}

static void visit_file(file_role role, const char *option, const char *text, void *context,
                       cli_file_visitor visitor) {
  switch (role) {
    case NO_FILE:
      return;
    case WRITES:
      visitor(context, CLI_FILE_WRITTEN, option, text);
      return;
    case WRITES_NAMES:
      visitor(context, CLI_FILE_NAMES, option, text);
      return;
    case WRITES_FRAMES:
      visitor(context, CLI_FILE_FRAMES, option, text);
      return;
    default:
      visit_read(role, option, text, context, visitor);
  }
}

/* Options of the runs of a batch name the files of its jobs, maybe by templates. */
static int names_files_of_jobs(cli_command command, const option_row *row) {
  return command == CLI_BATCH && row->commands != EVERY && find_field(CLI_RUN, row->offset) >= 0;
}

void cli_options_visit_files(const cli_options *options, cli_file_visitor visitor, void *context) {
  const int operand_is_file = options->command != CLI_MINIMIZE && options->command != CLI_BENCH;
  if (operand_is_file && options->input != NULL)
    visit_read(READS, NULL, options->input, context, visitor);
  for (int index = 0; index < ROW_COUNT; ++index) {
    const option_row *row = &rows[index];
    if (row->file == NO_FILE || !row_applies(index, options->command)) continue;
    if (names_files_of_jobs(options->command, row)) continue;
    const void *field = (const char *)options + row->offset;
    if (row->type == LIST) {
      const cli_list *list = field;
      for (int k = 0; k < list->count; ++k)
        visit_file(row->file, row->name, list->item[k], context, visitor);
    } else if (*(const char *const *)field != NULL) {
      visit_file(row->file, row->name, *(const char *const *)field, context, visitor);
    }
  }
}

const char *cli_operand_name(cli_command command) { return commands[command].operand; }
