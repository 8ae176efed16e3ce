/* The properties of SVG elements: attributes, style="...", and rules of <style> for elements,
 * classes and ids. Other selectors match nothing. */
#pragma once

#include "meshes/formats/formats.h"

typedef struct cvtm_svg_rule {
  cvtm_token selectors, declarations; /* in the file's bytes */
} cvtm_svg_rule;

typedef struct cvtm_svg_sheet {
  cvtm_svg_rule *rules; /* malloc'd */
  int64_t count, capacity;
} cvtm_svg_sheet;

/* Adds the rules of a <style>, whose content begins at source->at. */
cvtm_status cvtm_svg_sheet_read(cvtm_svg_sheet *sheet, cvtm_source *source);

/* The value of a property that the element itself has; 0: none. attributes: as in
 * cvtm_xml_handlers. */
int cvtm_svg_property(const cvtm_svg_sheet *sheet, const char *element, const char **attributes,
                      const char *property, cvtm_token *value);
