#include "cvt/decomposition.h"

#include <string.h>

static cvtm_status cover_cpu(const cvtm_subdomain *p, const double *sites, uint32_t *covered) {
  const int threads = cvtm_device_threads(p->device);
  const int32_t coarse = cvtm_subdomain_coarse(p), bins = (int32_t)1 << 2 * coarse;
  memset(p->marked, 0, (size_t)p->words * sizeof *p->marked);
  memcpy(covered, p->kept, (size_t)p->words * sizeof *covered);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < p->own; ++i) {
    const int32_t bin = cvtm_subdomain_bin(p->domain, coarse, sites + 2 * i);
    cvtm_set_bits(p->marked + bin / 32, (uint32_t)1 << bin % 32);
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t bin = 0; bin < bins; ++bin)
    cvtm_subdomain_cover(p->domain, coarse, p->marked, covered, bin);
  return CVTM_OK;
}

/* Counts the sites of a piece that rank q receives. Copies them to `to`, unless `to` is NULL. */
static int32_t visit_piece(const cvtm_subdomain *p, const double *sites, int q, int64_t piece,
                           double *to) {
  const int64_t first = piece * CVTM_SUBDOMAIN_PIECE, end = first + CVTM_SUBDOMAIN_PIECE;
  const int32_t coarse = cvtm_subdomain_coarse(p);
  const uint32_t *covered = p->covered + q * p->words;
  int32_t found = 0;
  for (int64_t i = first; q != p->rank && i < (end < p->own ? end : p->own); ++i) {
    if (!cvtm_subdomain_has(covered, cvtm_subdomain_bin(p->domain, coarse, sites + 2 * i)))
      continue;
    if (to) memcpy(to + 2 * (int64_t)found, sites + 2 * i, 2 * sizeof *to);
    ++found;
  }
  return found;
}

static cvtm_status count_cpu(const cvtm_subdomain *p, const double *sites) {
#pragma omp parallel for num_threads(cvtm_device_threads(p->device)) schedule(static)
  for (int64_t k = 0; k < p->size * p->pieces; ++k)
    p->counts[k] = visit_piece(p, sites, (int)(k / p->pieces), k % p->pieces, NULL);
  return CVTM_OK;
}

static cvtm_status write_cpu(const cvtm_subdomain *p, const double *sites) {
#pragma omp parallel for num_threads(cvtm_device_threads(p->device)) schedule(static)
  for (int64_t k = 0; k < p->size * p->pieces; ++k)
    (void)visit_piece(p, sites, (int)(k / p->pieces), k % p->pieces, p->sent + 2 * p->offsets[k]);
  return CVTM_OK;
}

static cvtm_status finish_cpu(cvtm_device *device, const cvtm_subdomain_sums *s) {
  const int64_t blocks = (s->own + s->block - 1) / s->block;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t end = (b + 1) * s->block < s->own ? (b + 1) * s->block : s->own;
    double energy = 0, distance = 0;
    for (int64_t i = b * s->block; i < end; ++i) {
      energy += s->moments[i].second;
      distance = cvtm_cvt_larger(
          distance, cvtm_cvt_finish_site(&s->moments[i], i, s->fixed - s->first, s->gradient));
    }
    s->sums[2 * b] = energy;
    s->sums[2 * b + 1] = distance;
  }
  return CVTM_OK;
}

CVTM_SUBDOMAIN_PHASES(CVTM_PHASE_CPU)

const cvtm_subdomain_table cvtm_subdomain_cpu = {.cover = cover_cpu,
                                                 .count = count_cpu,
                                                 .write = write_cpu,
                                                 .finish = finish_cpu,
                                                 CVTM_SUBDOMAIN_PHASES(CVTM_PHASE_CPU_NAME)};
