/* The torsion obstacle problem by PETSc's SNESVI (reduced-space active set) with multigrid, and
 * by this library, in one process on one thread: seconds to the same natural residual. Built
 * only where PETSc is found. Usage: petsc_obstacle [-m NODES] [PETSc options]. */
#include "lcp/lcp.h"

#include <math.h>
#include <petscdmda.h>
#include <petscsnes.h>
#include <stdio.h>
#include <stdlib.h>

/* PETSc's grid has the boundary's nodes, too, as its coarsening wants. */
static int is_boundary(const DMDALocalInfo *info, PetscInt i, PetscInt j) {
  return i == 0 || j == 0 || i == info->mx - 1 || j == info->my - 1;
}

static double load_of(PetscInt nodes) {
  const double h = 1.0 / (double)(nodes - 1);
  return -5 * h * h;
}

static PetscErrorCode residual(DMDALocalInfo *info, PetscScalar **x, PetscScalar **f, void *none) {
  const double load = load_of(info->mx);
  PetscFunctionBeginUser;
  (void)none;
  for (PetscInt j = info->ys; j < info->ys + info->ym; ++j) {
    for (PetscInt i = info->xs; i < info->xs + info->xm; ++i) {
      f[j][i] = 4 * x[j][i];
      if (is_boundary(info, i, j)) continue;
      const double sides = (x[j][i - 1] + x[j][i + 1]) + (x[j - 1][i] + x[j + 1][i]);
      f[j][i] -= sides + load;
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode jacobian(DMDALocalInfo *info, PetscScalar **x, Mat a, Mat p, void *none) {
  PetscFunctionBeginUser;
  (void)x;
  (void)a;
  (void)none;
  for (PetscInt j = info->ys; j < info->ys + info->ym; ++j) {
    for (PetscInt i = info->xs; i < info->xs + info->xm; ++i) {
      const PetscInt dx[5] = {0, -1, 1, 0, 0}, dy[5] = {0, 0, 0, -1, 1};
      MatStencil row = {.i = i, .j = j}, columns[5];
      PetscScalar values[5];
      PetscInt count = 0;
      for (int n = 0; n < 5; ++n) {
        const PetscInt ni = i + dx[n], nj = j + dy[n];
        if (n > 0 && (is_boundary(info, i, j) || is_boundary(info, ni, nj))) continue;
        columns[count] = (MatStencil){.i = ni, .j = nj};
        values[count++] = n == 0 ? 4 : -1;
      }
      PetscCall(MatSetValuesStencil(p, 1, &row, count, columns, values, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(p, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Bounds on whichever grid the solver is at. */
static PetscErrorCode bounds(SNES snes, Vec low, Vec high) {
  DM grid;
  DMDALocalInfo info;
  PetscScalar **values;
  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &grid));
  PetscCall(DMDAGetLocalInfo(grid, &info));
  PetscCall(VecSet(high, PETSC_INFINITY));
  PetscCall(DMDAVecGetArray(grid, low, &values));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const double x = (double)i / (info.mx - 1), y = (double)j / (info.my - 1);
      values[j][i] = is_boundary(&info, i, j) ? (double)PETSC_NINFINITY
                                              : -fmin(fmin(x, 1 - x), fmin(y, 1 - y));
    }
  }
  PetscCall(DMDAVecRestoreArray(grid, low, &values));
  PetscFunctionReturn(0);
}

static double natural(PetscInt m, const double *x, const double *b, const double *lower) {
  double squares = 0;
  for (PetscInt k = 0; k < m * m; ++k) {
    const PetscInt i = k % m, j = k / m;
    double f = 4 * x[k] - b[k];
    if (i > 0) f -= x[k - 1];
    if (i < m - 1) f -= x[k + 1];
    if (j > 0) f -= x[k - m];
    if (j < m - 1) f -= x[k + m];
    const double r = fmin(f, x[k] - lower[k]);
    squares += r * r;
  }
  return sqrt(squares);
}

/* Its best way here: grid sequencing, so that every grid starts from the coarser one's solution. */
static PetscErrorCode by_petsc(PetscInt m, const double *b, const double *lower) {
  DM grid;
  SNES snes;
  Vec x;
  PetscInt levels = 0;
  PetscFunctionBeginUser;
  while (((m + 1) >> levels) % 2 == 0 && ((m + 1) >> levels) > 4) ++levels;
  const PetscInt coarsest = ((m + 1) >> levels) + 1;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                         coarsest, coarsest, 1, 1, 1, 1, NULL, NULL, &grid));
  PetscCall(DMSetFromOptions(grid));
  PetscCall(DMSetUp(grid));
  PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
  PetscCall(SNESSetDM(snes, grid));
  PetscCall(DMDASNESSetFunctionLocal(grid, INSERT_VALUES, (DMDASNESFunction)residual, NULL));
  PetscCall(DMDASNESSetJacobianLocal(grid, (DMDASNESJacobian)jacobian, NULL));
  PetscCall(SNESSetType(snes, SNESVINEWTONRSLS));
  PetscCall(SNESVISetComputeVariableBounds(snes, bounds));
  PetscCall(SNESSetGridSequence(snes, levels));
  PetscCall(SNESSetTolerances(snes, 1e-8 * 5 / (double)(m + 1), 1e-50, 1e-50, 2000, 1000000));
  PetscCall(SNESSetFromOptions(snes));
  PetscLogDouble start, end;
  PetscCall(PetscTime(&start));
  PetscCall(SNESSolve(snes, NULL, NULL));
  PetscCall(PetscTime(&end));
  PetscInt steps;
  PetscCall(SNESGetIterationNumber(snes, &steps));
  PetscCall(SNESGetSolution(snes, &x));
  double *values;
  PetscCall(VecGetArray(x, &values));
  for (PetscInt k = 0; k < m * m; ++k) values[k] = values[(k / m + 1) * (m + 2) + k % m + 1];
  printf("  PETSc SNESVI  %8.3f s, %d steps on the finest grid, natural residual %.2e\n",
         end - start, (int)steps, natural(m, values, b, lower));
  PetscCall(VecRestoreArray(x, &values));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&grid));
  PetscFunctionReturn(0);
}

static int by_cvtmesh(PetscInt m, const double *b, const double *lower) {
  cvtm_device *device = NULL;
  cvtm_error error;
  cvtm_lcp *lcp = NULL;
  cvtm_lcp_options options;
  cvtm_lcp_result result;
  const cvtm_lcp_grid grid = {.width = m, .height = m, .constant = 1};
  double *x = malloc((size_t)(m * m) * sizeof *x);
  if (!x || cvtm_device_create("cpu", 1, &device, &error)) return 1;
  cvtm_lcp_defaults(&options);
  PetscLogDouble start, end;
  PetscTime(&start);
  int failed = cvtm_lcp_create_grid(device, m, m, &options, &lcp) ||
               cvtm_lcp_set_grid(lcp, &grid) || cvtm_lcp_solve(lcp, b, lower, NULL, x, 0, &result);
  PetscTime(&end);
  if (!failed) {
    printf("  cvtmesh tnnmg %8.3f s, %d cycles on the finest grid, natural residual %.2e\n",
           end - start, (int)result.iterations, natural(m, x, b, lower));
  }
  cvtm_lcp_destroy(lcp);
  cvtm_device_destroy(device);
  free(x);
  return failed;
}

int main(int argc, char **argv) {
  PetscInt m = 511;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  /* Coarse grids by halving, Galerkin operators, Gauss-Seidel: its best here. */
  const char *defaults[][2] = {{"-pc_type", "mg"},
                               {"-pc_mg_galerkin", "both"},
                               {"-mg_levels_ksp_type", "richardson"},
                               {"-mg_levels_pc_type", "sor"},
                               {"-mg_levels_ksp_max_it", "1"},
                               {"-ksp_type", "cg"},
                               {"-ksp_rtol", "1e-3"}};
  for (size_t k = 0; k < sizeof defaults / sizeof *defaults; ++k) {
    PetscBool given;
    PetscCall(PetscOptionsHasName(NULL, NULL, defaults[k][0], &given));
    if (!given) PetscCall(PetscOptionsSetValue(NULL, defaults[k][0], defaults[k][1]));
  }
  const size_t count = (size_t)m * (size_t)m;
  double *b = malloc(count * sizeof *b), *lower = malloc(count * sizeof *lower);
  if (!b || !lower) return 1;
  const double h = 1.0 / (double)(m + 1);
  for (PetscInt k = 0; k < m * m; ++k) {
    const double x = (double)(k % m + 1) * h, y = (double)(k / m + 1) * h;
    b[k] = load_of(m + 2);
    lower[k] = -fmin(fmin(x, 1 - x), fmin(y, 1 - y));
  }
  printf("torsion, %d x %d, one thread\n", (int)m, (int)m);
  const int failed = by_cvtmesh(m, b, lower);
  PetscCall(by_petsc(m, b, lower));
  free(b);
  free(lower);
  PetscCall(PetscFinalize());
  return failed;
}
