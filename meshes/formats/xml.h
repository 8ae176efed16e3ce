/* Inside meshes only: XML documents, parsed by expat. */
#ifndef CVTMESH_MESHES_FORMATS_XML_H
#define CVTMESH_MESHES_FORMATS_XML_H

#include "meshes/formats/formats.h"

/* Called for each element in the order of the document, with source->line at its tag. A status
 * other than CVTM_OK ends the parse. */
typedef struct cvtm_xml_handlers {
  /* attributes: names and values in turn, NULL at the end. source->at: the first byte of the
   * element's content. *stop = 1: nothing more is parsed, and what follows need not be XML. */
  cvtm_status (*start)(void *context, const char *name, const char **attributes, int *stop);
  cvtm_status (*end)(void *context, const char *name);
} cvtm_xml_handlers;

/* Parses up to the end of the root element. Character data are not handed on: they lie in the
 * source, between the positions of the calls. CVTM_ERROR_INPUT with the line for a document that is
 * not well-formed, for an entity that names another one or is longer than 1024 bytes, and for
 * entities that make the document much longer (expat's limit); external entities are not read. */
cvtm_status cvtm_xml_parse(cvtm_source *source, const cvtm_xml_handlers *handlers, void *context);

/* The value of an attribute, NULL if it is absent. */
const char *cvtm_xml_attribute(const char **attributes, const char *name);

#endif
