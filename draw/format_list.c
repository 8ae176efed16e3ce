/* The list of the formats of drawings and pictures. */
#include "draw/formats.h"

/* X(name): the format in cvtm_format_NAME. */
#define FORMAT_LIST(X) X(svg_drawing) X(pdf) X(dxf) X(hpgl) X(gcode) X(png) X(ppm)

#define FORMAT_ROW(name) extern const cvtm_format cvtm_format_##name;
FORMAT_LIST(FORMAT_ROW)

#define FORMAT_POINTER(name) &cvtm_format_##name,
const cvtm_format *const cvtm_drawing_formats[] = {FORMAT_LIST(FORMAT_POINTER) NULL};
