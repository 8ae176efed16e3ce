/* Small helpers for OpenGL 3.3 core; a context is current. */
#ifndef CVTMESH_VIEWER_GL_PROGRAM_H
#define CVTMESH_VIEWER_GL_PROGRAM_H

#include "base/status.h"

/* Compiles and links; the preamble (#version and shared functions) precedes both stages. */
cvtm_status cvtm_gl_program(const char *name, const char *preamble, const char *vertex,
                            const char *fragment, unsigned *program, cvtm_error *error);
/* CVTM_ERROR_DEVICE if OpenGL has seen an error since the last call. */
cvtm_status cvtm_gl_check(const char *what, cvtm_error *error);

#endif
