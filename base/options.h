/* Options of public functions: NULL means the defaults. */
#ifndef CVTMESH_BASE_OPTIONS_H
#define CVTMESH_BASE_OPTIONS_H

/* First in such a function: points a NULL `options` to the defaults of its type, ROOM_options. */
#define CVTM_DEFAULT_OPTIONS(room, options) \
  room##_options room##_default;            \
  if ((options) == NULL) {                  \
    room##_defaults(&room##_default);       \
    (options) = &room##_default;            \
  }

#endif
