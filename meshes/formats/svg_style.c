#include "meshes/formats/svg_style.h"

#include "base/host.h"

#include <stdlib.h>
#include <string.h>

static const char *const blanks = " \t\r\n";

static cvtm_token trim(const char *from, const char *end) {
  while (from < end && strchr(blanks, *from) != NULL) ++from;
  while (from < end && strchr(blanks, end[-1]) != NULL) --end;
  return (cvtm_token){from, (size_t)(end - from)};
}

/* Takes the text before the next `separator` off `rest`; returns 0 at the end. */
static int take_part(cvtm_token *rest, char separator, cvtm_token *part) {
  if (rest->length == 0) return 0;
  const char *from = rest->text, *end = from + rest->length;
  const char *stop = memchr(from, separator, rest->length);
  *part = trim(from, stop != NULL ? stop : end);
  rest->text = stop != NULL ? stop + 1 : end;
  rest->length = (size_t)(end - rest->text);
  return 1;
}

/* Finds the last declaration of a property, as in `fill: none; stroke: red`. */
static int find_declaration(cvtm_token list, const char *property, cvtm_token *value) {
  cvtm_token part, name;
  int found = 0;
  while (take_part(&list, ';', &part)) {
    if (!take_part(&part, ':', &name) || !cvtm_token_is(name, property)) continue;
    found = take_part(&part, '!', value); /* without `!important` */
  }
  return found;
}

static int has_class(const char **attributes, cvtm_token name) {
  const char *text = cvtm_xml_attribute(attributes, "class");
  while (text != NULL && *text != 0) {
    const size_t length = strcspn(text, blanks);
    if (length == name.length && memcmp(text, name.text, length) == 0) return 1;
    text += length;
    text += strspn(text, blanks);
  }
  return 0;
}

/* How closely a selector such as `path`, `.thin`, `path.thin` or `#seam` describes an element; 0:
 * it describes another one. */
static int match(cvtm_token selector, const char *element, const char **attributes) {
  size_t kind = 0;
  while (kind < selector.length && strchr(".#", selector.text[kind]) == NULL) ++kind;
  const cvtm_token type = {selector.text, kind};
  if (kind > 0 && !cvtm_token_is(type, element) && !cvtm_token_is(type, "*")) return 0;
  if (kind >= selector.length) return 1;
  const cvtm_token name = {selector.text + kind + 1, selector.length - kind - 1};
  if (selector.text[kind] == '.') return has_class(attributes, name) ? 2 : 0;
  const char *id = cvtm_xml_attribute(attributes, "id");
  return id != NULL && cvtm_token_is(name, id) ? 3 : 0;
}

cvtm_status cvtm_svg_sheet_read(cvtm_svg_sheet *sheet, cvtm_source *source) {
  const char *at = (const char *)source->data + source->at,
             *end = (const char *)source->data + source->size;
  for (;;) {
    const char *open = memchr(at, '{', (size_t)(end - at));
    const char *close = open != NULL ? memchr(open, '}', (size_t)(end - open)) : NULL;
    const char *from = open, *after = memchr(at, '<', (size_t)(end - at));
    if (after == at && end - at > 9 && memcmp(at, "<![CDATA[", 9) == 0)
      after = memchr(at + 1, '<', (size_t)(end - at - 1));
    if (close == NULL || (after != NULL && after < open)) return CVTM_OK; /* the end of <style> */
    while (from > at && strchr("/[;}", from[-1]) == NULL) --from; /* after comments and so on */
    if (!cvtm_grow(&sheet->rules, sizeof *sheet->rules, &sheet->capacity, sheet->count + 1))
      return cvtm_source_no_memory(source);
    sheet->rules[sheet->count++] =
        (cvtm_svg_rule){trim(from, open), {open + 1, (size_t)(close - open - 1)}};
    at = close + 1;
  }
}

int cvtm_svg_property(const cvtm_svg_sheet *sheet, const char *element, const char **attributes,
                      const char *property, cvtm_token *value) {
  const char *text = cvtm_xml_attribute(attributes, "style");
  if (text != NULL && find_declaration((cvtm_token){text, strlen(text)}, property, value)) return 1;
  int best = 0;
  for (int64_t k = 0; k < sheet->count; ++k) {
    cvtm_token list = sheet->rules[k].selectors, selector;
    while (take_part(&list, ',', &selector)) {
      const int fit = match(selector, element, attributes);
      if (fit > 0 && fit >= best && find_declaration(sheet->rules[k].declarations, property, value))
        best = fit;
    }
  }
  if (best > 0) return 1;
  text = cvtm_xml_attribute(attributes, property);
  if (text != NULL) *value = trim(text, text + strlen(text));
  return text != NULL;
}
