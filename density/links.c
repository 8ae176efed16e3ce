#include "density/links.h"

#include <stdlib.h>
#include <string.h>

static void fill_links(int64_t width, int64_t height, const uint8_t *mask, double weight,
                       double *horizontal, double *vertical) {
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t p = j * width + i;
      horizontal[j * (width + 1) + i] = i > 0 && mask[p] && mask[p - 1] ? weight : 0;
      vertical[p] = j > 0 && mask[p] && mask[p - width] ? weight : 0;
    }
    horizontal[j * (width + 1) + width] = 0;
  }
  for (int64_t i = 0; i < width; ++i) vertical[height * width + i] = 0;
}

static cvtm_status upload_links(cvtm_links *links, const uint8_t *mask, double weight) {
  const int64_t width = links->grid.width, height = links->grid.height;
  const int64_t across = (width + 1) * height, down = width * (height + 1);
  const size_t bytes = (size_t)(across + down) * sizeof(double);
  double *host = malloc(bytes);
  if (host == NULL) {
    return cvtm_fail(cvtm_device_error(links->device), CVTM_ERROR_MEMORY, "out of memory");
  }
  fill_links(width, height, mask, weight, host, host + across);
  cvtm_status status =
      cvtm_device_allocate(links->device, (int64_t)bytes + width * height, 1, &links->memory);
  double *memory = links->memory;
  if (status == CVTM_OK) status = cvtm_device_copy_in(links->device, memory, host, bytes);
  if (status == CVTM_OK) {
    links->grid.horizontal = memory;
    links->grid.vertical = memory + across;
    links->grid.mask = (uint8_t *)(memory + across + down);
    status =
        cvtm_device_copy_in(links->device, memory + across + down, mask, (size_t)(width * height));
  }
  free(host);
  return status;
}

cvtm_status cvtm_links_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                              double weight, cvtm_links *links) {
  memset(links, 0, sizeof *links);
  links->device = device;
  links->grid.width = width;
  links->grid.height = height;
  links->grid.constant = weight;
  links->grid.neumann = 1;
  if (mask == NULL) return CVTM_OK;
  const cvtm_status status = upload_links(links, mask, weight);
  if (status != CVTM_OK) cvtm_links_destroy(links);
  return status;
}

void cvtm_links_destroy(cvtm_links *links) {
  if (links->device != NULL) cvtm_device_free(links->device, links->memory);
  memset(links, 0, sizeof *links);
}
