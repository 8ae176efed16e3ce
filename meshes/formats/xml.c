#include "meshes/formats/xml.h"

#include <expat.h>
#include <string.h>

typedef struct parse {
  XML_Parser parser;
  cvtm_source *source;
  const cvtm_xml_handlers *handlers;
  void *context;
  size_t first; /* of the document in the source, and its line there, from 0 */
  int64_t first_line;
  int depth, done;
  cvtm_status status;
} parse;

static void end_parse(parse *p, cvtm_status status) {
  p->status = status;
  p->done = 1;
  XML_StopParser(p->parser, XML_FALSE);
}

static void find_line(parse *p) {
  p->source->line = p->first_line + (int64_t)XML_GetCurrentLineNumber(p->parser);
}

static void XMLCALL on_start(void *data, const char *name, const char **attributes) {
  parse *p = data;
  int stop = 0;
  if (p->done) return;
  find_line(p);
  p->source->at = p->first + (size_t)XML_GetCurrentByteIndex(p->parser) +
                  (size_t)XML_GetCurrentByteCount(p->parser);
  ++p->depth;
  const cvtm_status status = p->handlers->start(p->context, name, attributes, &stop);
  if (status != CVTM_OK || stop) end_parse(p, status);
}

static void XMLCALL on_end(void *data, const char *name) {
  parse *p = data;
  if (p->done) return;
  find_line(p);
  --p->depth;
  const cvtm_status status = p->handlers->end(p->context, name);
  if (status != CVTM_OK || p->depth == 0) end_parse(p, status);
}

/* Entities that name others are how a small document becomes a huge one. */
static void XMLCALL on_entity(void *data, const char *name, int is_parameter, const char *value,
                              int length, const char *base, const char *system,
                              const char *public_id, const char *notation) {
  enum { LONGEST = 1024 };
  parse *p = data;
  (void)name, (void)is_parameter, (void)base, (void)system, (void)public_id, (void)notation;
  if (p->done || value == NULL) return;
  if (length <= LONGEST && memchr(value, '&', (size_t)length) == NULL) return;
  find_line(p);
  end_parse(p, cvtm_source_fail(p->source, "an entity that is long or names another is refused"));
}

/* Names, numbers and base64 are ASCII, so that any 8-bit encoding may be taken for Latin-1. */
static int XMLCALL on_encoding(void *data, const char *name, XML_Encoding *encoding) {
  (void)data, (void)name;
  for (int k = 0; k < 256; ++k) encoding->map[k] = k;
  encoding->data = NULL;
  encoding->convert = NULL;
  encoding->release = NULL;
  return XML_STATUS_OK;
}

static cvtm_status fail_malformed(parse *p) {
  const enum XML_Error error = XML_GetErrorCode(p->parser);
  if (error == XML_ERROR_NO_MEMORY) return cvtm_source_no_memory(p->source);
  find_line(p);
  return cvtm_source_fail(p->source, "malformed XML: %s", XML_ErrorString(error));
}

static cvtm_status parse_all(parse *p) {
  const cvtm_source *s = p->source;
  const size_t most = (size_t)1 << 30; /* a length is an int */
  for (size_t at = p->first; !p->done;) {
    const size_t left = s->size - at, taken = left < most ? left : most;
    const int is_last = taken == left;
    const enum XML_Status parsed =
        XML_Parse(p->parser, (const char *)s->data + at, (int)taken, is_last);
    at += taken;
    if (!p->done && parsed == XML_STATUS_ERROR) return fail_malformed(p);
    if (is_last) break;
  }
  return p->status;
}

cvtm_status cvtm_xml_parse(cvtm_source *source, const cvtm_xml_handlers *handlers, void *context) {
  parse p = {.source = source, .handlers = handlers, .context = context, .first = source->at};
  /* Blanks before the XML declaration are an error to expat. */
  while (p.first < source->size && strchr(" \t\r\n", source->data[p.first]) != NULL &&
         source->data[p.first] != 0)
    p.first_line += source->data[p.first++] == '\n';
  p.parser = XML_ParserCreate(NULL);
  if (p.parser == NULL) return cvtm_source_no_memory(source);
  XML_SetUserData(p.parser, &p);
  XML_SetElementHandler(p.parser, on_start, on_end);
  XML_SetEntityDeclHandler(p.parser, on_entity);
  XML_SetUnknownEncodingHandler(p.parser, on_encoding, NULL);
  const cvtm_status status = parse_all(&p);
  XML_ParserFree(p.parser);
  return status;
}

const char *cvtm_xml_attribute(const char **attributes, const char *name) {
  for (; attributes[0] != NULL; attributes += 2)
    if (strcmp(attributes[0], name) == 0) return attributes[1];
  return NULL;
}
