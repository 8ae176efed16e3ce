# An overlay port: vcpkg install cvtmesh --overlay-ports=packaging/vcpkg
# A port of the registry has vcpkg_from_github here, with the hash of the release.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" SHARED)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "static" STATIC)
vcpkg_check_features(
    OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        formats CVTMESH_CAIRO
        formats CVTMESH_GIF
        formats CVTMESH_HDF5
        formats CVTMESH_HEIF
        formats CVTMESH_LCMS2
        formats CVTMESH_TIFF
        formats CVTMESH_WEBP
)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DCVTMESH_SHARED=${SHARED}
        -DCVTMESH_STATIC=${STATIC}
        -DCVTMESH_CUDA=OFF
        -DCVTMESH_MPI=OFF
        -DCVTMESH_VIEWER=OFF
        -DCVTMESH_TESTS=OFF
        -DCVTMESH_BENCH=OFF
        "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cvtmesh)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES cvtmesh AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
