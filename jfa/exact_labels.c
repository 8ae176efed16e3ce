#include "jfa/exact_labels.h"

#include "base/table_select.h"
#include "jfa/exact_labels_kernels.h"

cvtm_diagram cvtm_diagram_of(const cvtm_site_tree *tree, cvtm_domain domain) {
  const cvtm_diagram diagram = {cvtm_site_tree_get_view(tree), domain, cvtm_metric_of(domain)};
  return diagram;
}

cvtm_status cvtm_exact_labels(cvtm_device *device, cvtm_site_tree *tree, cvtm_domain domain,
                              int32_t *labels, int32_t *unlabelled) {
  const cvtm_exact_labels_table *table = CVTM_TABLE(device, cvtm_exact_labels_table);
  const cvtm_diagram diagram = cvtm_diagram_of(tree, domain);
  int32_t *const left = table->label_cells ? unlabelled : NULL;
  cvtm_status status = CVTM_OK;
  if (table->label_cells) status = table->label_cells(device, &diagram, labels, left);
  if (status == CVTM_OK) status = cvtm_site_tree_build_boxes(tree, left);
  return status == CVTM_OK ? table->label_tiles(device, &diagram, labels, left) : status;
}

cvtm_status cvtm_exact_labels_correct(cvtm_device *device, const cvtm_diagram *diagram,
                                      const double *sites, const int32_t *exact, int32_t *labels,
                                      uint64_t *wrong) {
  const cvtm_status status = cvtm_device_fill(device, wrong, 0, sizeof *wrong);
  if (status != CVTM_OK) return status;
  return CVTM_TABLE(device, cvtm_exact_labels_table)
      ->correct(device, diagram, sites, exact, labels, wrong);
}
