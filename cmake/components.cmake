# components.cmake - component files are compiled once per instruction set.
#
# A component file defines `rmc_kinetic_separable`.  A generated header, put in
# front of the file by the compiler's -include, renames it to
# `rmc_kinetic_separable_<isa>`, so that all versions fit into one library;
# src/registry.c picks one at run time.  The names come from components.def.

include(CheckCCompilerFlag)

# relmc_read_components(out def): the list of rmc_<role>_<name> in that file.
function(relmc_read_components out def)
    set_property(
        DIRECTORY
        APPEND
        PROPERTY CMAKE_CONFIGURE_DEPENDS "${def}")
    file(STRINGS "${def}" lines REGEX "^ *COMPONENT")
    set(names)
    foreach(line IN LISTS lines)
        if(NOT line MATCHES
           "^COMPONENT\\(([a-z][a-z0-9_]*), *([a-z][a-z0-9_]*)\\)")
            message(FATAL_ERROR "${def}: not COMPONENT(role, name): ${line}")
        endif()
        list(APPEND names rmc_${CMAKE_MATCH_1}_${CMAKE_MATCH_2})
    endforeach()
    if(NOT names)
        message(FATAL_ERROR "${def}: names no component")
    endif()
    set(${out} "${names}" PARENT_SCOPE)
endfunction()

# relmc_add_components(isa sources flags...): the object library
# relmc_components_<isa>.
function(relmc_add_components isa sources)
    relmc_read_components(names "${CMAKE_CURRENT_SOURCE_DIR}/components.def")
    set(header "${CMAKE_CURRENT_BINARY_DIR}/names_${isa}.h")
    set(text "/* names_${isa}.h - generated from components.def */\n")
    foreach(name IN LISTS names)
        string(APPEND text "#define ${name} ${name}_${isa}\n")
    endforeach()
    file(CONFIGURE OUTPUT "${header}" CONTENT "${text}" @ONLY)

    set(target relmc_components_${isa})
    add_library(${target} OBJECT ${${sources}})
    target_include_directories(
        ${target} PRIVATE "${PROJECT_SOURCE_DIR}/include"
                          "${PROJECT_SOURCE_DIR}/src")
    target_compile_options(${target} PRIVATE "SHELL:-include \"${header}\""
                                             ${ARGN})
endfunction()

# Which sets are there beside the baseline?  RELMC_WIDE names them, each with all
# before it; RELMC_HAS says the same to the files that choose, and RELMC_FLAGS_<isa>
# is how they are compiled.  Compilers would make less of the vectors of AVX-512
# if they were not told.
set(RELMC_FLAGS_avx2 -march=x86-64-v3)
set(RELMC_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
set(RELMC_WIDE)
set(RELMC_HAS)
if(RELMC_ISA STREQUAL "auto")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND
       CMAKE_SIZEOF_VOID_P EQUAL 8)
        check_c_compiler_flag(-march=x86-64-v3 RELMC_COMPILER_KNOWS_V3)
        check_c_compiler_flag(-march=x86-64-v4 RELMC_COMPILER_KNOWS_V4)
        if(RELMC_COMPILER_KNOWS_V3)
            list(APPEND RELMC_WIDE avx2)
            list(APPEND RELMC_HAS RMC_HAS_AVX2=1)
        endif()
        if(RELMC_COMPILER_KNOWS_V3 AND RELMC_COMPILER_KNOWS_V4)
            list(APPEND RELMC_WIDE avx512)
            list(APPEND RELMC_HAS RMC_HAS_AVX512=1)
        endif()
    endif()
elseif(NOT RELMC_ISA STREQUAL "baseline")
    message(FATAL_ERROR "RELMC_ISA is '${RELMC_ISA}'; use auto or baseline")
endif()
