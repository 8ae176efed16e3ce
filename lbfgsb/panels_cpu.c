/* The passes of panels.h on the CPU. W has the tiles of cvtm_lbfgsb_at, as in passes_cpu.c, whose
 * passes these are; no library multiplies the panels, since the order of its sums would depend on
 * the processor and on the number of threads (docs/design.md, rule 4). */
#include "base/host.h"
#include "lbfgsb/panels.h"
#include "lbfgsb/variables.h"

#include <stdlib.h>
#include <string.h>

enum {
  BLOCK = 128,       /* listed rows that are multiplied at once */
  PART = 32 * BLOCK, /* listed rows of a part */
  MOST = 2 * CVTM_LBFGSB_MAX_HISTORY
};

typedef double lanes __attribute__((vector_size(4 * sizeof(double)), may_alias));

typedef struct panels_cpu {
  double *partial; /* the products of each part of the listed rows, then its block of columns */
  size_t capacity; /* doubles; grows with the number of listed rows */
} panels_cpu;

static cvtm_status cpu_open(cvtm_device *device, int64_t n, int m, void **own) {
  (void)n;
  (void)m;
  *own = calloc(1, sizeof(panels_cpu));
  if (*own) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
}

static void cpu_close(cvtm_device *device, void *own) {
  (void)device;
  free(((panels_cpu *)own)->partial);
  free(own);
}

static cvtm_status cpu_pass(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                            cvtm_lbfgsb_pass pass, const double *q, int entries, double *result) {
  (void)own;
  cvtm_lbfgsb_cpu_pass(cvtm_device_threads(device), arrays, pass, q, entries, result);
  return CVTM_OK;
}

static cvtm_status cpu_move(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays) {
  (void)own;
  cvtm_lbfgsb_cpu_move(cvtm_device_threads(device), arrays);
  return CVTM_OK;
}

/* Column c of [Y S], of the stored pairs alone, as a column of W. */
static int column_of(int c, int k, int m) { return c < k ? c : m + c - k; }

/* columns[c][r]: the rows `rows` of the 2k columns, and of g; 0 from `count` on. */
static void gather_panel(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int count,
                         double *columns) {
  const int m = arrays->state->history, k = arrays->state->count;
  const double *w = arrays->w;
  int64_t first[BLOCK];
  for (int r = 0; r < count; ++r) first[r] = cvtm_lbfgsb_at(rows[r], 0, m);
  for (int c = 0; c < 2 * k; ++c) {
    const double *column = w + column_of(c, k, m) * CVTM_LBFGSB_TILE;
    for (int r = 0; r < count; ++r) columns[c * BLOCK + r] = column[first[r]];
  }
  for (int r = 0; r < count; ++r)
    columns[2 * k * BLOCK + r] =
        (arrays->scale ? arrays->scale[rows[r]] : 1.0) * arrays->g[rows[r]];
  for (int c = 0; c <= 2 * k && count < BLOCK; ++c)
    memset(columns + c * BLOCK + count, 0, (size_t)(BLOCK - count) * sizeof *columns);
}

/* products[b] += a'b_b, b < count, over a block; column b is at columns + b * BLOCK. */
CVTM_INLINE void add_block(const double *a, const double *columns, int count, double *products) {
  const lanes *av = (const lanes *)a;
  for (int b = 0; b < count; b += 4) {
    const int c1 = b + 1 < count ? b + 1 : b, c2 = b + 2 < count ? b + 2 : b,
              c3 = b + 3 < count ? b + 3 : b;
    const lanes *b0 = (const lanes *)(columns + b * BLOCK),
                *b1 = (const lanes *)(columns + c1 * BLOCK),
                *b2 = (const lanes *)(columns + c2 * BLOCK),
                *b3 = (const lanes *)(columns + c3 * BLOCK);
    lanes s[4] = {{0.0}, {0.0}, {0.0}, {0.0}};
    for (int r = 0; r < BLOCK / 4; ++r) {
      s[0] += av[r] * b0[r];
      s[1] += av[r] * b1[r];
      s[2] += av[r] * b2[r];
      s[3] += av[r] * b3[r];
    }
    for (int c = 0; c < 4 && b + c < count; ++c)
      products[b + c] += (s[c][0] + s[c][1]) + (s[c][2] + s[c][3]);
  }
}

CVTM_INLINE void sum_part(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int64_t count,
                          double *columns, double *products) {
  const int size = 2 * arrays->state->count;
  memset(products, 0, (size_t)(size * size + size) * sizeof *products);
  for (int64_t first = 0; first < count; first += BLOCK) {
    const int64_t left = count - first;
    gather_panel(arrays, rows + first, left < BLOCK ? (int)left : BLOCK, columns);
    for (int a = 0; a < size; ++a)
      add_block(columns + a * BLOCK, columns, a + 1, products + a * size);
    add_block(columns + size * BLOCK, columns, size, products + size * size);
  }
}

typedef void (*part_function)(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int64_t count,
                              double *columns, double *products);

static void sum_part_narrow(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int64_t count,
                            double *columns, double *products) {
  sum_part(arrays, rows, count, columns, products);
}

CVTM_WIDE static void sum_part_wide(const cvtm_lbfgsb_arrays *arrays, const int32_t *rows,
                                    int64_t count, double *columns, double *products) {
  sum_part(arrays, rows, count, columns, products);
}

static cvtm_status grow(cvtm_device *device, panels_cpu *own, size_t count) {
  if (count <= own->capacity) return CVTM_OK;
  free(own->partial);
  own->partial = aligned_alloc(64, (count * sizeof *own->partial + 63) / 64 * 64);
  own->capacity = own->partial ? count : 0;
  if (own->partial) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
}

/* Parts of fixed size, added in the order of their indices: the same bits for any number of
 * threads. */
static cvtm_status cpu_gram(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                            const int32_t *rows, int64_t count, double *gram, double *wg) {
  panels_cpu *panels = own;
  const size_t size = 2 * (size_t)arrays->state->count, each = (size * size + size + 7) / 8 * 8;
  const int64_t parts = (count - 1) / PART + 1;
  const int wanted = cvtm_device_threads(device);
  const int threads = wanted < parts ? wanted : (int)parts;
  const size_t space = (size_t)(MOST + 1) * BLOCK;
  const part_function function = cvtm_has_wide_vectors() ? sum_part_wide : sum_part_narrow;
  const cvtm_status status = grow(device, panels, (size_t)parts * each + (size_t)parts * space);
  if (status != CVTM_OK) return status;
  double *columns = panels->partial + (size_t)parts * each;
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t left = count - part * PART;
    function(arrays, rows + part * PART, left < PART ? left : PART, columns + (size_t)part * space,
             panels->partial + (size_t)part * each);
  }
  memset(gram, 0, size * size * sizeof *gram);
  memset(wg, 0, size * sizeof *wg);
  for (int64_t part = 0; part < parts; ++part) {
    const double *products = panels->partial + (size_t)part * each;
    for (size_t e = 0; e < size * size; ++e) gram[e] += products[e];
    for (size_t e = 0; e < size; ++e) wg[e] += products[size * size + e];
  }
  return CVTM_OK;
}

static cvtm_status cpu_read_rows(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                                 const int32_t *rows, int count, double *w) {
  (void)device;
  (void)own;
  for (int r = 0; r < count; ++r, w += 2 * arrays->state->history + 1)
    cvtm_lbfgsb_cpu_read_row(arrays, rows[r], w);
  return CVTM_OK;
}

const cvtm_panels_table cvtm_panels_table_cpu = {
    .open = cpu_open,
    .close = cpu_close,
    .pass = cpu_pass,
    .move = cpu_move,
    .gram = cpu_gram,
    .read_rows = cpu_read_rows,
};
