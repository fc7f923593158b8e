# components.cmake - component files are compiled once per instruction set.
#
# RMC_ISA(rmc_kinetic_separable), see src/base/isa.h, is another name in each of
# them, so that all versions fit into one library; src/component/registry.c picks one
# at run time.

include(CheckCCompilerFlag)

# relmc_add_components(isa sources flags...): the object library
# relmc_components_<isa>.
function(relmc_add_components isa sources)
    set(target relmc_components_${isa})
    add_library(${target} OBJECT ${${sources}})
    target_include_directories(
        ${target} PRIVATE "${PROJECT_SOURCE_DIR}/include"
                          "${PROJECT_SOURCE_DIR}/src")
    target_compile_definitions(${target} PRIVATE RMC_ISA_SUFFIX=_${isa})
    target_compile_options(${target} PRIVATE ${ARGN})
endfunction()

# Which sets are there beside the baseline?  RELMC_WIDE names them, each with all
# before it; RELMC_HAS says the same to the files that choose, and RELMC_FLAGS_<isa>
# is how they are compiled.  Compilers would make less of the vectors of AVX-512
# if they were not set.
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
