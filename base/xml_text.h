/* Text inside XML and HTML. */
#ifndef CVTMESH_BASE_XML_TEXT_H
#define CVTMESH_BASE_XML_TEXT_H

#include <stdio.h>
#include <string.h>

static inline void cvtm_put_xml_text(FILE *file, const char *text) {
  for (; *text != '\0'; ++text) {
    if (strchr("<>&\"", *text) != NULL)
      fprintf(file, "&#%d;", *text);
    else
      fputc(*text, file);
  }
}

#endif
