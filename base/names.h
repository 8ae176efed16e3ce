/* Inside the library: names of an enumeration that a list of X(code, name) declares. */
#ifndef CVTMESH_BASE_NAMES_H
#define CVTMESH_BASE_NAMES_H

#define CVTM_NAME_IN_LIST(code, name) name,

/* const char *function(type value). */
#define CVTM_DEFINE_NAMES(function, type, LIST)                   \
  const char *function(type value) {                              \
    static const char *const names[] = {LIST(CVTM_NAME_IN_LIST)}; \
    return names[value];                                          \
  }

#endif
