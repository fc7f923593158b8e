# flags.cmake - how every file of the project is compiled.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Where the C library offers more than C17 we ask for this much of POSIX, in
# the few files that need it.
set(RELMC_POSIX _POSIX_C_SOURCE=200809L)

# Arithmetic.  The same draws come out of every compiler, optimisation level
# and instruction set because nobody may contract a*b + c behind our back and
# nobody may reorder a sum.  These flags change no value; -ffast-math would,
# and src/base/vmath_inline.h refuses it.
add_compile_options(-fno-math-errno -fno-trapping-math -ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(i.86|x86)$" OR
   (CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND
    CMAKE_SIZEOF_VOID_P EQUAL 4))
    add_compile_options(-msse2 -mfpmath=sse)
endif()

# GCC 12 may give two arrays of inlined functions the same place on the stack
# while both are alive (GCC bug 90348); a unit test of the random words met it.
# clang-tidy, which reads our compile commands, does not know the flag.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT RELMC_FOR_TIDY)
    add_compile_options(-fstack-reuse=none)
endif()

# Calls inside the library go straight to the function, not through a table
# that another library could change.
add_compile_options(-fno-common -fno-semantic-interposition)

add_compile_options(
    -Wall
    -Wextra
    -Wno-missing-field-initializers # tables name what they set
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wstrict-prototypes
    -Wmissing-prototypes
    -Wcast-qual
    -Wvla
    -Wformat=2
    -Wundef
    -Wdouble-promotion)
if(RELMC_WERROR)
    add_compile_options(-Werror)
endif()

# RELMC_INSTRUMENTED: the binaries carry things that are not ours, so tests
# that look into them make no sense.
set(RELMC_INSTRUMENTED OFF)
if(RELMC_SANITIZE)
    set(RELMC_INSTRUMENTED ON)
    add_compile_options(-fsanitize=${RELMC_SANITIZE}
                        -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${RELMC_SANITIZE})
endif()
if(RELMC_COVERAGE)
    set(RELMC_INSTRUMENTED ON)
    add_compile_options(--coverage)
    add_link_options(--coverage)
endif()

# relmc_symbol_versions(target map): the shared library shows the symbols named in
# the map file, each with a version, and no others.
function(relmc_symbol_versions target map)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
                                               SOVERSION ${RELMC_SOVERSION})
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
        set_target_properties(${target} PROPERTIES LINK_DEPENDS "${map}")
    endif()
endfunction()
