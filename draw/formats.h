/* The formats of drawings and pictures (meshes/format.h). */
#pragma once

#include "draw/drawing.h"
#include "meshes/format.h"

/* The formats, followed by NULL. */
extern const cvtm_format *const cvtm_drawing_formats[];
