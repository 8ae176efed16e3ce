#include "cli/region_names.h"

#include "cli/cli.h"
#include "cli/domain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 31 }; /* so that the names of interfaces fit */

/* N=NAME; a name is what every format takes: a letter, and letters, digits, _ and - behind it. */
static int parse_name(const char *text, cvtm_region_name *made) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  char *end = NULL;
  if (!(*text >= '1' && *text <= '9')) return 0;
  errno = 0;
  const long region = strtol(text, &end, 10);
  if (errno != 0 || *end != '=' || region > 1 << 24) return 0;
  const char *name = end + 1;
  const size_t length = strlen(name);
  if (length > NAME_MAX_BYTES || strcspn(name, letters) != 0 || strspn(name, others) != length)
    return 0;
  *made = (cvtm_region_name){(int32_t)region, name};
  return length > 0;
}

int cli_region_names_check(const cli_options *o) {
  cvtm_region_name made[CLI_LIST_MAX];
  const cli_list *list = &o->domain.region_names;
  if (list->count > 0 && o->domain.kind == CLI_DOMAIN_NONE)
    return cli_usage_error(o->command, "--region-name needs --domain");
  for (int k = 0; k < list->count; ++k) {
    if (!parse_name(list->item[k], &made[k]))
      return cli_usage_error(o->command,
                             "--region-name: '%s' is not N=NAME, with a name of letters, digits, _"
                             " and -",
                             list->item[k]);
    for (int j = 0; j < k; ++j) {
      if (made[j].region == made[k].region || strcmp(made[j].name, made[k].name) == 0)
        return cli_usage_error(o->command, "--region-name: '%s' and '%s' contradict each other",
                               list->item[j], list->item[k]);
    }
  }
  return CLI_EXIT_OK;
}

cvtm_status cli_region_names_group(const cli_options *o, const cvtm_pslg *graph,
                                   const cvtm_mesh *mesh, cvtm_domain image, cvtm_regions *regions,
                                   cvtm_error *error) {
  const size_t most = CLI_LIST_MAX + (size_t)graph->name_count;
  cvtm_region_name *made = malloc(most * sizeof *made);
  int64_t count = 0;
  if (made == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for names");
  for (int k = 0; k < o->domain.region_names.count; ++k)
    count += parse_name(o->domain.region_names.item[k], &made[count]);
  if (graph->name_count > 0) /* the first name of a region counts */
    memcpy(made + count, graph->names, (size_t)graph->name_count * sizeof *made);
  const cvtm_status status =
      cvtm_regions_group(mesh, image, made, count + graph->name_count, regions, error);
  free(made);
  return status;
}
