#include "cvt/parts.h"

#include "base/clock.h"
#include "base/primitives.h"
#include "base/select.h"

#include <stdlib.h>
#include <string.h>

static cvtm_status parts_no_memory(const cvtm_parts *p) {
  return cvtm_fail(cvtm_device_error(p->device), CVTM_ERROR_MEMORY,
                   "no memory to divide %lld sites", (long long)p->count);
}

cvtm_status cvtm_parts_create(cvtm_device *device, cvtm_domain domain, const float *density,
                              cvtm_parts **result) {
  const cvtm_ranks *ranks = cvtm_device_ranks(device);
  cvtm_parts *p = calloc(1, sizeof *p);
  if (!p) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  p->device = device;
  p->table = CVTM_TABLE(device, cvtm_parts);
  p->domain = domain;
  p->density = density;
  p->rank = ranks ? ranks->rank : 0;
  p->size = ranks ? ranks->size : 1;
  const size_t size = (size_t)p->size;
  p->first_block = calloc(size + 1, sizeof *p->first_block);
  p->matrix = malloc(size * size * sizeof *p->matrix);
  p->matrix_row = malloc(size * size * sizeof *p->matrix_row);
  p->gathered = malloc(size * sizeof *p->gathered);
  p->room = calloc(2 * size, sizeof *p->room);
  if (!p->first_block || !p->matrix || !p->matrix_row || !p->gathered || !p->room) {
    const cvtm_status status = parts_no_memory(p);
    cvtm_parts_destroy(p);
    return status;
  }
  *result = p;
  return CVTM_OK;
}

enum { ARRAYS = 10 };

static void list_parts_arrays(cvtm_parts *p, cvtm_array arrays[ARRAYS]) {
  const int64_t pieces = p->pieces, lists = p->size * pieces;
  const int64_t partial =
      p->block > 0 && p->block < CVTM_PARTS_PIECE ? (p->own + p->block - 1) / p->block : pieces;
  const cvtm_array list[ARRAYS] = {
      CVTM_ARRAY(p->marked, p->words),
      CVTM_ARRAY(p->kept, p->words),
      CVTM_ARRAY(p->covered, p->size * p->words),
      CVTM_ARRAY(p->missed, 1),
      CVTM_ARRAY(p->cover, 1),
      CVTM_ARRAY(p->counts, lists),
      CVTM_ARRAY(p->offsets, lists + 1),
      {&p->workspace, (int64_t)p->workspace_bytes, 1},
      CVTM_ARRAY(p->partial, 2 * partial),
      CVTM_ARRAY(p->sums, 2 * p->blocks),
  };
  memcpy(arrays, list, sizeof list);
}

static void free_division(cvtm_parts *p) {
  cvtm_array arrays[ARRAYS];
  list_parts_arrays(p, arrays);
  cvtm_device_free_all(p->device, arrays, ARRAYS);
  cvtm_device_free(p->device, p->sent);
  p->sent = NULL;
  if (p->room) memset(p->room, 0, 2 * (size_t)p->size * sizeof *p->room);
  free(p->staging);
  p->staging = NULL;
  cvtm_cvt_destroy(p->plan);
  p->plan = NULL;
}

void cvtm_parts_destroy(cvtm_parts *p) {
  if (!p) return;
  free_division(p);
  free(p->first_block);
  free(p->matrix);
  free(p->matrix_row);
  free(p->gathered);
  free(p->room);
  free(p);
}

static cvtm_status allocate_division(cvtm_parts *p) {
  const int64_t bits = p->size * p->words / 2, sums = 2 * p->blocks;
  cvtm_array arrays[ARRAYS];
  cvtm_status status = cvtm_scan_workspace(p->device, p->size * p->pieces, &p->workspace_bytes);
  list_parts_arrays(p, arrays);
  if (status == CVTM_OK) status = cvtm_device_allocate_all(p->device, arrays, ARRAYS);
  if (status == CVTM_OK)
    status = cvtm_device_fill(p->device, p->kept, 0, (size_t)p->words * sizeof *p->kept);
  if (status != CVTM_OK || cvtm_device_get_kind(p->device) == CVTM_DEVICE_CPU) return status;
  p->staging = malloc((size_t)(bits > sums ? bits : sums) * sizeof *p->staging);
  return p->staging ? CVTM_OK : parts_no_memory(p);
}

int64_t cvtm_parts_first(const cvtm_parts *p, int rank) {
  const int64_t first = p->first_block[rank] * p->block;
  return first < p->count ? first : p->count;
}

cvtm_status cvtm_parts_divide(cvtm_parts *p, int64_t count, int64_t block) {
  free_division(p);
  p->count = count;
  p->block = block;
  p->blocks = (count + block - 1) / block;
  for (int r = 0; r <= p->size; ++r) p->first_block[r] = p->blocks * r / p->size;
  p->first = cvtm_parts_first(p, p->rank);
  p->own = cvtm_parts_first(p, p->rank + 1) - p->first;
  p->pieces = (p->own + CVTM_PARTS_PIECE - 1) / CVTM_PARTS_PIECE;
  const int64_t words = cvtm_tree_cover_words(cvtm_site_tree_levels(p->domain, count));
  p->words = words + words % 2; /* ranks exchange them as 64-bit numbers */
  return allocate_division(p);
}

/* Sets what each rank covers, from the own sites and the kept bins. */
static cvtm_status find_covers(cvtm_parts *p, const double *sites) {
  const cvtm_status status = p->table->cover(p, sites, p->covered + p->rank * p->words);
  for (int r = 0; r < p->size; ++r) p->gathered[r] = p->words / 2;
  return status == CVTM_OK ? cvtm_ranks_gather_on_device(p->device, (double *)(void *)p->covered,
                                                         p->gathered, p->staging)
                           : status;
}

/* Counts the sites that go from each rank to each. */
static cvtm_status count_exchange(cvtm_parts *p, const double *sites) {
  double *row = p->matrix_row + (int64_t)p->rank * p->size;
  int64_t before = 0;
  cvtm_status status = p->table->count(p, sites);
  if (status == CVTM_OK)
    status = cvtm_scan_64(p->device, p->counts, p->size * p->pieces, p->offsets, p->workspace,
                          p->workspace_bytes);
  for (int q = 0; status == CVTM_OK && q < p->size; ++q) {
    int64_t end = before;
    if (q != p->rank)
      status = cvtm_device_copy_out(p->device, &end, p->offsets + (q + 1) * p->pieces, sizeof end);
    row[q] = 2 * (double)(end - before);
    before = end;
    p->gathered[q] = p->size;
  }
  if (status == CVTM_OK) status = cvtm_ranks_gather(p->device, p->matrix_row, p->gathered);
  p->low = 0;
  p->near = p->own;
  for (int k = 0; k < p->size * p->size; ++k) {
    p->matrix[k] = (int64_t)p->matrix_row[k];
    if (k % p->size != p->rank) continue;
    p->near += p->matrix[k] / 2;
    if (k / p->size < p->rank) p->low += p->matrix[k] / 2;
  }
  return status;
}

static cvtm_status make_own_room(cvtm_parts *p, int64_t near, int64_t leaving) {
  cvtm_device_free(p->device, p->sent);
  cvtm_cvt_destroy(p->plan);
  p->sent = NULL;
  p->plan = NULL;
  const cvtm_status status = cvtm_device_allocate(p->device, 2 * leaving, CVTM_TYPED(p->sent));
  return status == CVTM_OK
             ? cvtm_cvt_create_part(p->device, p->domain, p->density, near, p->count, &p->plan)
             : status;
}

/* Room for the sites around and own and for those that leave, some more than there are now. Each
 * rank knows from the matrix which ranks need more room. Only then do the ranks wait for each
 * other: if one has no memory, all fail. */
static cvtm_status make_room(cvtm_parts *p) {
  cvtm_status status = CVTM_OK;
  int64_t failed = 0;
  int grows = 0;
  for (int r = 0; r < p->size; ++r) {
    const int64_t own = cvtm_parts_first(p, r + 1) - cvtm_parts_first(p, r);
    int64_t *room = p->room + 2 * (int64_t)r, near = own, leaving = 0;
    for (int q = 0; q < p->size; ++q) {
      near += p->matrix[q * p->size + r] / 2;
      leaving += p->matrix[r * p->size + q] / 2;
    }
    if (room[0] > 0 && near <= room[0] && leaving <= room[1]) continue;
    const int64_t most = near + (near - own) / 2 + 64;
    grows = 1;
    room[0] = most < p->count ? most : p->count;
    room[1] = leaving + leaving / 8;
    if (r == p->rank) status = make_own_room(p, room[0], room[1]);
  }
  if (!grows) return CVTM_OK;
  failed = status != CVTM_OK;
  const cvtm_status shared = cvtm_ranks_sum(p->device, &failed, 1);
  if (shared == CVTM_OK && failed == 0) return CVTM_OK;
  memset(p->room, 0, 2 * (size_t)p->size * sizeof *p->room);
  if (status != CVTM_OK || shared != CVTM_OK) return status != CVTM_OK ? status : shared;
  return cvtm_fail(cvtm_device_error(p->device), CVTM_ERROR_MEMORY,
                   "another rank has no room for its sites");
}

/* Brings together the sites around and own, and sorts them. */
static cvtm_status gather_sites(cvtm_parts *p, const double *sites) {
  cvtm_status status = find_covers(p, sites);
  if (status == CVTM_OK) status = count_exchange(p, sites);
  if (status == CVTM_OK) status = make_room(p);
  if (status == CVTM_OK) status = p->table->write(p, sites);
  if (status != CVTM_OK) return status;
  const size_t bytes = 2 * (size_t)p->own * sizeof *sites;
  const cvtm_tree_cover cover = {p->covered + p->rank * p->words, p->kept, p->missed,
                                 (int32_t)p->low, (int32_t)(p->low + p->own)};
  status = cvtm_ranks_exchange(p->device, p->sent, p->matrix, p->plan->sites, 2 * p->own);
  if (status == CVTM_OK)
    status = cvtm_device_copy(p->device, p->plan->sites + 2 * p->low, sites, bytes);
  if (status == CVTM_OK) status = cvtm_device_fill(p->device, p->missed, 0, sizeof *p->missed);
  if (status == CVTM_OK) status = cvtm_device_copy_in(p->device, p->cover, &cover, sizeof cover);
  return status == CVTM_OK
             ? cvtm_site_tree_sort_part(p->plan->tree, p->plan->sites, p->near, p->count, p->cover)
             : status;
}

cvtm_status cvtm_parts_evaluate(cvtm_parts *p, const double *sites) {
  int64_t lacking = 1;
  cvtm_status status = CVTM_OK;
  for (int again = 0; status == CVTM_OK && lacking > 0; again = 1) {
    status = gather_sites(p, sites);
    const double start = cvtm_clock();
    if (status == CVTM_OK) p->plan->tree_clipping = p->tree_clipping;
    if (status == CVTM_OK)
      status = p->plan->table->part_moments(p->plan, p->near, p->missed, &lacking);
    p->seconds = cvtm_clock() - start;
    p->repeats += again;
  }
  return status;
}

cvtm_cell_moments *cvtm_parts_moments(const cvtm_parts *p) { return p->plan->moments + p->low; }

cvtm_status cvtm_parts_finish(cvtm_parts *p, int64_t fixed, double *sums, double *gradient) {
  const cvtm_parts_sums job = {
      cvtm_parts_moments(p), p->first, p->own, fixed, p->block, p->partial, sums, gradient};
  return p->table->finish(p->device, &job);
}

cvtm_status cvtm_parts_total(cvtm_parts *p, int64_t fixed, double *value, double *gradient) {
  cvtm_status status = cvtm_parts_finish(p, fixed, p->sums + 2 * p->first_block[p->rank], gradient);
  for (int r = 0; r < p->size; ++r)
    p->gathered[r] = 2 * (p->first_block[r + 1] - p->first_block[r]);
  if (status == CVTM_OK)
    status = cvtm_ranks_gather_on_device(p->device, p->sums, p->gathered, p->staging);
  return status == CVTM_OK ? p->table->total(p->device, p->sums, p->blocks, value) : status;
}
