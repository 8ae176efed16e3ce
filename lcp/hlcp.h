/* Horizontal linear complementarity problems, HLCP(A, B, q): find z and w with
 *
 *     A z - B w = q,  z >= 0,  w >= 0,  z'w = 0.
 *
 * The methods are the modulus-based synchronous multisplitting iteration of Mezzadri
 * ("Modulus-based synchronous multisplitting methods for solving horizontal linear complementarity
 * problems on parallel computers", Numer. Linear Algebra Appl. 2020, Method 2), and a semismooth
 * Newton method, for problems to which the theory of that iteration does not apply. With x the
 * modulus variable,
 *
 *     z = (|x| + x) / gamma,  w = Omega (|x| - x) / gamma,
 *
 * so z'w = 0 holds by construction. An LCP has B = I. */
#pragma once

#include "lcp/lcp.h"

CVTM_API_BEGIN

/* X(code, name)
 * mmj     multisplitting Jacobi: alpha = 1, beta = 0
 * mmgs    multisplitting Gauss-Seidel: alpha = beta = 1
 * mmsor, mmaor   equations (11) to (13) with alpha and beta of the options. "MMSOR, alpha = 1.1" in
 *         the paper's tables is alpha = 1, beta = 1.1 here.
 * newton  semismooth Newton; it needs no splitting and no positive diagonals */
#define CVTM_HLCP_METHOD_LIST(X) \
  X(CVTM_HLCP_MMJ, "mmj")        \
  X(CVTM_HLCP_MMGS, "mmgs")      \
  X(CVTM_HLCP_MMSOR, "mmsor")    \
  X(CVTM_HLCP_MMAOR, "mmaor")    \
  X(CVTM_HLCP_NEWTON, "newton")

typedef enum cvtm_hlcp_method {
#define CVTM_HLCP_METHOD_CODE(code, name) code,
  CVTM_HLCP_METHOD_LIST(CVTM_HLCP_METHOD_CODE)
#undef CVTM_HLCP_METHOD_CODE
} cvtm_hlcp_method;

const char *cvtm_hlcp_method_name(cvtm_hlcp_method method);

/* How L_k, the strictly lower triangular matrix of block k, is formed. S_k: the rows of the block;
 * E_k: as in the paper.
 * rows   the strictly lower part of the rows S_k (section 2.3 of the paper, used for its tables).
 *        Unknowns outside the block have the values that Jacobi predicts.
 * block  the strictly lower part of E_k A E_k (section 4) */
typedef enum cvtm_hlcp_rule { CVTM_HLCP_ROWS, CVTM_HLCP_BLOCK } cvtm_hlcp_rule;

/* How the AOR family splits B:
 * both     like A, equations (11) and (12); for B = I the "HLCP-like" method of Remark 3
 * a_only   M_B = B, N_B = 0; for B = I the methods for LCPs, Remarks 1 and 3. B must be diagonal.
 */
typedef enum cvtm_hlcp_split { CVTM_HLCP_SPLIT_BOTH, CVTM_HLCP_SPLIT_A_ONLY } cvtm_hlcp_split;

/* Omega, a positive diagonal: omega I, omega D_A D_B^-1, or omega_vector. */
typedef enum cvtm_hlcp_scaling {
  CVTM_HLCP_OMEGA_NUMBER,
  CVTM_HLCP_OMEGA_RATIO,
  CVTM_HLCP_OMEGA_VECTOR
} cvtm_hlcp_scaling;

typedef struct cvtm_hlcp_progress {
  int64_t iteration; /* 0: the start */
  double residual;   /* ||A z - B w - q||_2 */
} cvtm_hlcp_progress;

/* Called on the host for every iteration, in order, perhaps late; nonzero: stop. */
typedef int (*cvtm_hlcp_monitor)(void *context, const cvtm_hlcp_progress *progress);

/* Each comment ends with the default; without one, the default is 0 or NULL. */
typedef struct cvtm_hlcp_options {
  cvtm_hlcp_method method; /* mmsor */
  double alpha, beta;      /* for mmsor and mmaor; 1, 1.1 */
  double gamma;            /* > 0; 2 */
  cvtm_hlcp_scaling scaling;
  double omega;               /* > 0, a factor if the diagonal is a ratio; 1 */
  const double *omega_vector; /* n, > 0; host memory, copied */
  cvtm_hlcp_rule rule;
  cvtm_hlcp_split split;
  int64_t splits;         /* l, the number of splittings, 1 .. n; 0: chosen by the device, see
                             cvtm_hlcp_result.splits */
  int64_t block_threads;  /* CUDA: one thread solves each splitting, as in the paper, in thread
                             blocks of this many threads; 0: one thread for each row, if a splitting
                             has at most 32 rows */
  double start;           /* every component of x^(0), unless the solve is warm; 2 */
  double tolerance;       /* on ||A z - B w - q||_2, absolute, after every iteration; 1e-6 */
  int64_t max_iterations; /* largest number of sweeps, or of steps of newton; 10000 */
  cvtm_hlcp_monitor monitor;
  void *monitor_context;
  CVTM_RESERVED(8);
} cvtm_hlcp_options;

void cvtm_hlcp_defaults(cvtm_hlcp_options *options);

typedef struct cvtm_hlcp_result {
  cvtm_lcp_stop stop;
  int64_t iterations;
  int64_t splits;             /* l; 0 for newton */
  double residual;            /* ||A z - B w - q||_2 */
  double max_complementarity; /* largest z_i w_i */
  double seconds, setup_seconds;
  int64_t linear_iterations; /* Krylov iterations in all steps of newton; 0: direct solver */
  CVTM_RESERVED(8);
} cvtm_hlcp_result;

typedef struct cvtm_hlcp cvtm_hlcp;

/* Checks and copies the matrices and allocates all memory; a solve allocates nothing. Fails with
 * CVTM_ERROR_INPUT for different sizes, structures for which cvtm_csr_check fails, an entry of
 * Omega that is not positive and, for the multisplitting methods, a diagonal that is not positive;
 * the message names the matrix, the row (counted from 1) and the reason. Fails with
 * CVTM_ERROR_ARGUMENT for options that are out of range. */
cvtm_status cvtm_hlcp_create(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                             const cvtm_hlcp_options *options, cvtm_hlcp **hlcp);
void cvtm_hlcp_destroy(cvtm_hlcp *hlcp);

/* q, x, z, w: n doubles each in device memory. x is the modulus variable: the start if warm; on
 * return that of z and w; NULL: cold start, and not returned. Fails for a q that is not finite, and
 * names the index. An iteration that does not converge is no error: see result->stop. */
cvtm_status cvtm_hlcp_solve(cvtm_hlcp *hlcp, const double *q, double *x, int warm, double *z,
                            double *w, cvtm_hlcp_result *result);

CVTM_API_END
