/* Inside the library: the exact discrete Voronoi diagram. Every pixel centre gets the index of its
 * nearest site, the lowest of several equally near ones, as a comparison in double of all sites
 * would find it (cvtm_distance2). Compiles as C11 and as CUDA C++. */
#ifndef CVTMESH_JFA_EXACT_LABELS_H
#define CVTMESH_JFA_EXACT_LABELS_H

#include "jfa/site_query.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sorted sites, at least one, and their domain: what kernels that label pixels are given. */
typedef struct cvtm_diagram {
  cvtm_site_tree_view tree;
  cvtm_domain domain;
  cvtm_metric metric;
} cvtm_diagram;

/* Valid as long as the tree's view is. */
cvtm_diagram cvtm_diagram_of(const cvtm_site_tree *tree, cvtm_domain domain);

/* Labels all width * height pixels of the domain. The tree's sites are sorted and at least one; its
 * boxes are built here if they are needed. labels, and the one number *unlabelled, which is
 * scratch, are in device memory. Enqueued; allocates nothing. */
cvtm_status cvtm_exact_labels(cvtm_device *device, cvtm_site_tree *tree, cvtm_domain domain,
                              int32_t *labels, int32_t *unlabelled);

/* Replaces labels by the exact ones and sets *wrong to how many had a site farther than the
 * nearest. A label that is no index counts as infinitely far. sites: the caller's, in device
 * memory, as are the two arrays of labels and *wrong. Enqueued. */
cvtm_status cvtm_exact_labels_correct(cvtm_device *device, const cvtm_diagram *diagram,
                                      const double *sites, const int32_t *exact, int32_t *labels,
                                      uint64_t *wrong);

#ifdef __cplusplus
}
#endif
#endif
