/* A format of meshes, for test_format_rows.py: the numbers of vertices and triangles. */
#include "meshes/formats/formats.h"

static void write_fake(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "fake %lld %lld\n", (long long)m->vertex_count, (long long)m->triangle_count);
}

/* A triangle. */
static cvtm_status read_fake(cvtm_source *source, cvtm_builder *b) {
  cvtm_status status = cvtm_source_expect(source, "fake");
  for (int k = 0; k < 3 && status == CVTM_OK; ++k)
    status = cvtm_builder_vertex(b, k == 1, k == 2, 0);
  return status == CVTM_OK ? cvtm_builder_triangle(b, (const double[3]){0, 1, 2}) : status;
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
