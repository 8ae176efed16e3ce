/* Where a picture lies in the world, as files say it. */
#ifndef CVTMESH_DENSITY_PICTURES_IMAGE_PLACE_H
#define CVTMESH_DENSITY_PICTURES_IMAGE_PLACE_H

#include "density/density.h"

/* Sets the size of a pixel from pixels per unit across and down; does nothing if one of them is not
 * positive and finite. unit_mm: the unit in mm; the size is given in mm. */
void cvtm_place_set_resolution(cvtm_image_place *place, double across, double down, double unit_mm);

/* Sets the size of a pixel from the text of TIFF's ImageDescription: PhysicalSizeX and
 * PhysicalSizeY of OME-XML, or ImageJ's `unit=`, which names the unit of `across` and `down`, the
 * pixels per unit. Returns 0 if the text says nothing of either. */
int cvtm_place_set_description(cvtm_image_place *place, const char *text, double across,
                               double down);

/* Turns the size of a pixel as the orientation 1 to 8 turns the picture; an origin is lost. */
void cvtm_place_orient(cvtm_image_place *place, int orientation);

#endif
