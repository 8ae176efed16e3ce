#include "viewer/gl_program.h"

#include <epoxy/gl.h>

static cvtm_status compile(const char *name, GLenum stage, const char *preamble, const char *text,
                           GLuint program, cvtm_error *error) {
  const char *parts[2] = {preamble, text};
  const GLuint shader = glCreateShader(stage);
  GLint done = 0;
  glShaderSource(shader, 2, parts, NULL);
  glCompileShader(shader);
  glGetShaderiv(shader, GL_COMPILE_STATUS, &done);
  cvtm_status status = CVTM_OK;
  if (!done) {
    char log[400] = "";
    glGetShaderInfoLog(shader, (GLsizei)sizeof log, NULL, log);
    status = cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: shader of %s: %s", name, log);
  } else {
    glAttachShader(program, shader);
  }
  glDeleteShader(shader);
  return status;
}

cvtm_status cvtm_gl_program(const char *name, const char *preamble, const char *vertex,
                            const char *fragment, unsigned *result, cvtm_error *error) {
  const GLuint program = glCreateProgram();
  cvtm_status status = compile(name, GL_VERTEX_SHADER, preamble, vertex, program, error);
  if (status == CVTM_OK)
    status = compile(name, GL_FRAGMENT_SHADER, preamble, fragment, program, error);
  if (status == CVTM_OK) {
    GLint done = 0;
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &done);
    if (!done) {
      char log[400] = "";
      glGetProgramInfoLog(program, (GLsizei)sizeof log, NULL, log);
      status = cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: program of %s: %s", name, log);
    }
  }
  if (status != CVTM_OK) {
    glDeleteProgram(program);
    return status;
  }
  *result = program;
  return CVTM_OK;
}

cvtm_status cvtm_gl_check(const char *what, cvtm_error *error) {
  const GLenum first = glGetError();
  if (first == GL_NO_ERROR) return CVTM_OK;
  /* A lost context reports errors for ever, so the loop is bounded. */
  for (int k = 0; k < 16 && glGetError() != GL_NO_ERROR; ++k) continue;
  return cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: %s: error 0x%04x", what, (unsigned)first);
}
