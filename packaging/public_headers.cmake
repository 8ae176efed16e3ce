# The public headers. They are copied to include/cvtmesh of the build folder, where they include
# each other as <cvtmesh/ROOM/FILE.h>, beside cvtmesh.h, which includes them all.
set(cvtmesh_public_headers
    base/api.h base/version.h base/status.h base/device.h base/domain.h base/file.h
    base/npy.h base/srgb.h
    density/density.h density/pipeline.h density/condition.h
    density/region.h density/segmentation.h density/size_field.h
    cvt/cvt.h cvt/classes.h cvt/slide.h cvt/cell_mass.h cvt/equal_mass.h
    cvt/gaussian.h cvt/nearest.h cvt/sphere.h
    jfa/site_tree.h jfa/jfa.h
    meshes/mesh.h meshes/device_delaunay.h meshes/mesh_file.h meshes/polygon_file.h
    meshes/contour.h meshes/domain_plan.h meshes/domain_mesh.h meshes/constrained.h meshes/refine.h meshes/sized_mesh.h
    meshes/second_order.h meshes/sphere.h
    draw/disc.h draw/inks.h draw/likeness.h draw/raster.h draw/picture.h draw/drawing.h draw/plotter.h
    draw/tour.h
    lbfgsb/lbfgsb.h run/run.h run/outline.h
    lcp/sparse.h lcp/matrix_market.h lcp/colouring.h lcp/lcp.h lcp/hlcp.h)
# Places of headers of 1.0 that have moved, "old new": for one release the old ones include the new.
set(cvtmesh_moved_headers
    "density/bias.h density/condition.h" "density/grade.h density/condition.h"
    "density/eikonal.h density/condition.h" "density/seeds.h density/segmentation.h"
    "density/segment.h density/segmentation.h"
    "pictures/picture.h draw/picture.h" "plot/drawing.h draw/drawing.h" "plot/tour.h draw/tour.h"
    "plot/trails.h draw/drawing.h"
    "draw/ink_drawing.h draw/likeness.h" "draw/palettes.h draw/raster.h" "voronoi/site_tree.h jfa/site_tree.h"
    "power/equal_mass.h cvt/equal_mass.h" "noise/gaussian.h cvt/gaussian.h"
    "noise/nearest.h cvt/nearest.h" "base/memory_file.h base/file.h")

# Writes the file only where it changes, so that nothing is compiled again without need.
function(cvtmesh_write_header name text)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/include/cvtmesh/${name})
  set(before)
  if(EXISTS ${file})
    file(READ ${file} before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE ${file} "${text}")
  endif()
endfunction()

foreach(header IN LISTS cvtmesh_public_headers)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  string(REGEX REPLACE "#include \"([a-z0-9_/]+\\.h)\"" "#include <cvtmesh/\\1>" text "${text}")
  cvtmesh_write_header(${header} "${text}")
endforeach()
foreach(pair IN LISTS cvtmesh_moved_headers)
  string(REGEX MATCH "(.+) (.+)" pair "${pair}")
  set(old ${CMAKE_MATCH_1})
  set(new ${CMAKE_MATCH_2})
  if(new IN_LIST cvtmesh_public_headers)
    cvtmesh_write_header(${old} "/* Moved to ${new}. */\n#include <cvtmesh/${new}>\n")
  endif()
endforeach()
list(TRANSFORM cvtmesh_public_headers REPLACE "(.+)" "#include <cvtmesh/\\1>" OUTPUT_VARIABLE all)
list(JOIN all "\n" all)
cvtmesh_write_header(cvtmesh.h "/* Everything of cvtmesh: ${PROJECT_DESCRIPTION}. */
#pragma once

${all}
")
