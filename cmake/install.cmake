# install.cmake - headers, libraries, tool; relmc.pc and relmc-extra.pc for
# pkg-config, and relmcConfig.cmake for find_package(relmc).  What belongs to
# librelmc-extra alone is in extra/.

include(CMakePackageConfigHelpers)

install(FILES include/relmc.h include/relmc_diag.h include/relmc_ext.h
              include/relmc_spec.h include/relmc_team.h include/relmc_format.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(
    TARGETS relmc_static relmc_shared
    EXPORT relmcTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET relmc)
    install(TARGETS relmc DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(TARGETS relmc-reproduce
            DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/relmc)
    if(TARGET relmc-mpi)
        install(TARGETS relmc-mpi DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endif()

# pkg-config: paths relative to relmc.pc, so that the tree can be moved.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(CMAKE_DL_LIBS) # dlopen, where it is not in the C library
    set(RELMC_PC_DL " -l${CMAKE_DL_LIBS}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR
   IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(RELMC_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    set(RELMC_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
    set(RELMC_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
    file(RELATIVE_PATH up "/prefix/${pc_dir}" "/prefix")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(RELMC_PC_PREFIX "\${pcfiledir}/${up}")
    set(RELMC_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(RELMC_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
foreach(library relmc relmc-extra)
    if(library STREQUAL "relmc" OR RELMC_EXTRA_FOUND)
        configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
        install(FILES "${PROJECT_BINARY_DIR}/${library}.pc"
                DESTINATION ${pc_dir})
    endif()
endforeach()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/relmc")
install(
    EXPORT relmcTargets
    NAMESPACE relmc::
    DESTINATION ${package_dir})
configure_package_config_file(
    cmake/relmcConfig.cmake.in "${PROJECT_BINARY_DIR}/relmcConfig.cmake"
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/relmcConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/relmcConfig.cmake"
              "${PROJECT_BINARY_DIR}/relmcConfigVersion.cmake"
        DESTINATION ${package_dir})
