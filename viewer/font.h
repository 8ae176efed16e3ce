/* A monospaced typeface of strokes: printable ASCII. A glyph is a list
 * of strokes split by blanks, each a list of points of two characters, x in 0 .. 8 (left to
 * right) and y in 0 .. b (0 the top of capitals, 3 of small letters, 8 the base line, b the
 * bottom of descenders). A stroke is a polygonal line; after ~ the points control a quadratic
 * spline that begins and ends at its ends, after o a closed one. */
#ifndef CVTMESH_VIEWER_FONT_H
#define CVTMESH_VIEWER_FONT_H

enum { CVTM_FONT_FIRST = 32, CVTM_FONT_GLYPHS = 95 };

extern const char *const cvtm_font_strokes[CVTM_FONT_GLYPHS];

/* Coverage of a glyph in a box of width x height pixels (top to bottom, 0 .. 255). The capitals
 * are `capital` pixels high, lines are `weight` wide. */
void cvtm_font_draw(int glyph, int width, int height, double capital, double weight,
                    unsigned char *pixels, int stride);

#endif
