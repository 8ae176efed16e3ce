#include "draw/drawing.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *text;
} builtin_profiles[] = {{"grbl-servo",
                         "# GRBL; a servo lifts the pen: S of M3\n"
                         "start = G21\n"
                         "start = G90\n"
                         "up = M3 S300\n"
                         "up = G4 P0.15\n"
                         "down = M3 S700\n"
                         "down = G4 P0.15\n"
                         "dwell = G4 P0.05\n"
                         "pause = M0\n"
                         "pen = (pen {pen}: {name})\n"
                         "travel = G0 X{x} Y{y}\n"
                         "draw = G1 X{x} Y{y} F2000\n"
                         "end = G0 X0 Y0\n"
                         "end = M5\n"},
                        {"grbl-z",
                         "# GRBL; the pen hangs on the Z axis, which is 0 on the paper\n"
                         "start = G21\n"
                         "start = G90\n"
                         "start = G94\n"
                         "up = G0 Z3\n"
                         "down = G1 Z0 F600\n"
                         "dwell = G4 P0.05\n"
                         "pause = M0\n"
                         "pen = (pen {pen}: {name})\n"
                         "travel = G0 X{x} Y{y}\n"
                         "draw = G1 X{x} Y{y} F2000\n"
                         "end = G0 X0 Y0\n"
                         "end = M2\n"},
                        {"marlin-servo",
                         "# Marlin; servo 0 lifts the pen; G4 in ms\n"
                         "start = G21\n"
                         "start = G90\n"
                         "start = G28 X Y\n"
                         "up = M280 P0 S60\n"
                         "up = G4 P150\n"
                         "down = M280 P0 S30\n"
                         "down = G4 P150\n"
                         "dwell = G4 P50\n"
                         "pause = M0\n"
                         "pen = M117 pen {pen}: {name}\n"
                         "travel = G0 X{x} Y{y} F6000\n"
                         "draw = G1 X{x} Y{y} F2000\n"
                         "end = G0 X0 Y0 F6000\n"
                         "end = M84\n"}};

const char *cvtm_gcode_builtin(const char *name) {
  for (size_t k = 0; k < sizeof builtin_profiles / sizeof builtin_profiles[0]; ++k)
    if (strcmp(builtin_profiles[k].name, name) == 0) return builtin_profiles[k].text;
  return NULL;
}

/* Where the reader is, for messages. */
typedef struct profile_reader {
  cvtm_gcode_profile *profile;
  const char *name;
  int line;
  cvtm_error *error;
} profile_reader;

static cvtm_status fail_at_line(const profile_reader *r, const char *what) {
  return cvtm_fail(r->error, CVTM_ERROR_INPUT, "%s, line %d: %s", r->name, r->line, what);
}

static char *trim(char *text) {
  text += strspn(text, " \t");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) --length;
  text[length] = '\0';
  return text;
}

static cvtm_gcode_lines *lines_of_key(cvtm_gcode_profile *profile, const char *key) {
  const struct {
    const char *key;
    cvtm_gcode_lines *lines;
  } table[] = {{"start", &profile->start}, {"up", &profile->up},       {"down", &profile->down},
               {"dwell", &profile->dwell}, {"pause", &profile->pause}, {"pen", &profile->pen},
               {"end", &profile->end}};
  for (size_t k = 0; k < sizeof table / sizeof table[0]; ++k)
    if (strcmp(table[k].key, key) == 0) return table[k].lines;
  return NULL;
}

static cvtm_status set_origin(profile_reader *r, const char *value) {
  r->profile->from_top = strcmp(value, "top-left") == 0;
  if (r->profile->from_top || strcmp(value, "bottom-left") == 0) return CVTM_OK;
  return fail_at_line(r, "origin is bottom-left or top-left");
}

static cvtm_status set_key(profile_reader *r, const char *key, const char *value) {
  cvtm_gcode_lines *lines = lines_of_key(r->profile, key);
  if (lines != NULL) {
    if (lines->count == CVTM_GCODE_LINES) return fail_at_line(r, "too many lines of this name");
    lines->line[lines->count++] = value;
    return CVTM_OK;
  }
  if (strcmp(key, "origin") == 0) return set_origin(r, value);
  const int is_travel = strcmp(key, "travel") == 0;
  if (!is_travel && strcmp(key, "draw") != 0)
    return fail_at_line(r,
                        "known are start, up, down, dwell, pause, pen, end, travel, draw, origin");
  if (strstr(value, "{x}") == NULL || strstr(value, "{y}") == NULL)
    return fail_at_line(r, "travel and draw need {x} and {y}");
  *(is_travel ? &r->profile->travel : &r->profile->draw) = value;
  return CVTM_OK;
}

static cvtm_status read_line(profile_reader *r, char *line) {
  line = trim(line);
  if (*line == '\0' || *line == '#') return CVTM_OK;
  char *equals = strchr(line, '=');
  if (equals == NULL) return fail_at_line(r, "this is not of the form name = value");
  *equals = '\0';
  return set_key(r, trim(line), trim(equals + 1));
}

static cvtm_status check_complete(profile_reader *r) {
  const cvtm_gcode_profile *p = r->profile;
  if (p->travel != NULL && p->draw != NULL && p->up.count > 0 && p->down.count > 0) return CVTM_OK;
  return fail_at_line(r, "up, down, travel or draw is missing");
}

cvtm_status cvtm_gcode_profile_parse(const char *text, const char *name,
                                     cvtm_gcode_profile *profile, cvtm_error *error) {
  memset(profile, 0, sizeof *profile);
  profile->text = strdup(text);
  if (profile->text == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: no memory", name);
  profile_reader r = {profile, name, 0, error};
  cvtm_status status = CVTM_OK;
  for (char *line = profile->text; status == CVTM_OK && line != NULL;) {
    char *end = strchr(line, '\n');
    if (end != NULL) *end = '\0';
    ++r.line;
    status = read_line(&r, line);
    line = end != NULL ? end + 1 : NULL;
  }
  if (status == CVTM_OK) status = check_complete(&r);
  if (status != CVTM_OK) cvtm_gcode_profile_free(profile);
  return status;
}

void cvtm_gcode_profile_free(cvtm_gcode_profile *profile) {
  free(profile->text);
  memset(profile, 0, sizeof *profile);
}
