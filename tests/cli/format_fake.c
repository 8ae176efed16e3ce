/* A format of meshes, for test_format_rows.py: the numbers of vertices and triangles. */
#include "meshes/formats/formats.h"

static void write_fake(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "fake %lld %lld\n", (long long)m->vertex_count, (long long)m->triangle_count);
}

/* A triangle. */
static cvtm_status read_fake(cvtm_source *source, cvtm_builder *b) {
  cvtm_source_expect(source, "fake");
  cvtm_builder_vertices(b, (const double[9]){0, 0, 0, 1, 0, 0, 0, 1, 0}, 3);
  cvtm_builder_triangle(b, (const double[3]){0, 1, 2}, 3);
  return source->status;
}

const cvtm_format cvtm_format_fake = {
    .extension = "fake",
    .alias = "phony",
    .help = "Fake: programs for fakes",
    .manual = "A `fake` has few numbers. See --svg.",
    .properties = CVTM_HOLDS_SECOND_ORDER | CVTM_HOLDS_VALUES,
    .write_mesh = write_fake,
    .read_mesh = read_fake,
    .files_beside = {{"_second.fake", 0, 0}, {"_third.fake", 1, 0}},
    .read_beside = "_first.fake"};
