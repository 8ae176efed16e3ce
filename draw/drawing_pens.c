/* Drawings in several colours: one layer for each pen. */
#include "draw/drawing.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of strokes, points and parts. */
typedef struct drawing_sizes {
  int64_t strokes, points, parts;
} drawing_sizes;

static int64_t points_of(const cvtm_drawing *layer) {
  return layer->stroke_count > 0 ? layer->start[layer->stroke_count] : 0;
}

static cvtm_status allocate_joined(const drawing_sizes *sizes, int has_dots, cvtm_drawing *drawing,
                                   cvtm_error *error) {
  drawing->start = malloc(((size_t)sizes->strokes + 1) * sizeof *drawing->start);
  drawing->points = malloc((2 * (size_t)sizes->points + 1) * sizeof *drawing->points);
  drawing->part = malloc(((size_t)sizes->parts + 1) * sizeof *drawing->part);
  drawing->pen = malloc((size_t)sizes->parts * sizeof *drawing->pen);
  if (has_dots) drawing->radius = malloc(((size_t)sizes->strokes + 1) * sizeof *drawing->radius);
  if (drawing->start && drawing->points && drawing->part && drawing->pen &&
      (drawing->radius || !has_dots))
    return CVTM_OK;
  cvtm_drawing_free(drawing);
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the strokes of a drawing");
}

static void add_layer(const cvtm_drawing *layer, int pen, int64_t *points, cvtm_drawing *drawing) {
  const int64_t stroke = drawing->stroke_count;
  for (int64_t k = 0; k < layer->stroke_count; ++k)
    drawing->start[stroke + k] = *points + layer->start[k];
  for (int64_t part = 0; part < cvtm_drawing_parts(layer); ++part) {
    int64_t first, end;
    cvtm_drawing_part(layer, part, &first, &end);
    drawing->part[drawing->part_count] = stroke + first;
    drawing->pen[drawing->part_count++] = pen;
  }
  const size_t count = (size_t)points_of(layer);
  if (count > 0)
    memcpy(drawing->points + 2 * *points, layer->points, 2 * count * sizeof *layer->points);
  if (layer->radius != NULL && count > 0)
    memcpy(drawing->radius + stroke, layer->radius, count * sizeof *layer->radius);
  *points += (int64_t)count;
  drawing->stroke_count += layer->stroke_count;
  drawing->start[drawing->stroke_count] = *points;
  drawing->part[drawing->part_count] = drawing->stroke_count;
}

cvtm_status cvtm_drawing_join(const cvtm_drawing *layers, const cvtm_pen *pens, int count,
                              cvtm_drawing *drawing, cvtm_error *error) {
  drawing_sizes sizes = {0, 0, 0};
  for (int k = 0; k < count; ++k) {
    sizes.strokes += layers[k].stroke_count;
    sizes.points += points_of(&layers[k]);
    sizes.parts += cvtm_drawing_parts(&layers[k]);
  }
  *drawing =
      (cvtm_drawing){.page = layers[0].page, .pens = pens, .line_width = layers[0].line_width};
  cvtm_status status = allocate_joined(&sizes, layers[0].radius != NULL, drawing, error);
  if (status != CVTM_OK) return status;
  int64_t points = 0;
  drawing->start[0] = 0;
  for (int k = 0; k < count; ++k) add_layer(&layers[k], k, &points, drawing);
  return CVTM_OK;
}
