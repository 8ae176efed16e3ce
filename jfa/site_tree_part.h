/* Inside the library: a site tree that lacks some sites (cvtm_tree_cover in site_query.h). Its bins
 * and levels are those of the tree of all sites, so that a search finds the same. */
#ifndef CVTMESH_JFA_SITE_TREE_PART_H
#define CVTMESH_JFA_SITE_TREE_PART_H

#include "jfa/site_query.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The levels of bins of a tree of `count` sites. */
int32_t cvtm_site_tree_levels(cvtm_domain domain, int64_t count);
/* A tree without boxes for `capacity` of at most `whole` sites in all. */
cvtm_status cvtm_site_tree_create_part(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                       int64_t whole, cvtm_site_tree **tree);
/* The domain of the sorts that follow: that of creation in larger units. */
void cvtm_site_tree_set_domain(cvtm_site_tree *tree, cvtm_domain domain);
/* cvtm_site_tree_sort of `count` of `whole` sites. cover: in the device's memory, borrowed until
 * the next sort; the sort marks the bins that the spacings of own sites need. Of sites with equal
 * codes the order must be that of all sites. */
cvtm_status cvtm_site_tree_sort_part(cvtm_site_tree *tree, const double *sites, int64_t count,
                                     int64_t whole, const cvtm_tree_cover *cover);

#ifdef __cplusplus
}
#endif
#endif
