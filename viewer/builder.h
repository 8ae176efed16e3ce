/* Makes frames of states in a thread of its own, each after the reader has taken the last one. */
#ifndef CVTMESH_VIEWER_BUILDER_H
#define CVTMESH_VIEWER_BUILDER_H

#include "viewer/frame.h"
#include "viewer/solver.h"

typedef struct cvtm_builder cvtm_builder;

cvtm_status cvtm_builder_start(cvtm_solver *solver, cvtm_builder **builder, cvtm_error *error);
/* To be called before the solver is stopped. */
void cvtm_builder_stop(cvtm_builder *builder);
/* Nonzero if there is a newer frame, then in *frame until the next call. */
int cvtm_builder_take(cvtm_builder *builder, const cvtm_view_frame **frame);
/* CVTM_OK, or why there will be no further frame. */
cvtm_status cvtm_builder_error(cvtm_builder *builder, cvtm_error *error);

#endif
