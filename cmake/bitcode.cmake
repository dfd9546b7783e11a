# Bitcode from C and C++ with clang 19, without the orchid program: what `orchid build` does, for the build of Orchid itself.
include_guard(GLOBAL)
find_program(ORCHID_CLANG clang-19 REQUIRED)
find_program(ORCHID_CLANGXX clang++-19 REQUIRED)

# Makes `output` from the C or C++ file `source`; further arguments go to the compiler.
function(orchid_bitcode output source)
  if(source MATCHES "\\.c$")
    set(compiler ${ORCHID_CLANG} -std=gnu17)
  else()
    set(compiler ${ORCHID_CLANGXX} -std=c++23)
  endif()
  # clang's pipeline for a later link: it leaves vectorising and unrolling to the host that runs the
  # function, which knows its own vector width (docs/decisions/0007).
  set(flags ${ORCHID_BITCODE_TARGET} -O2 -flto=thin -emit-llvm -c -Wall -Wextra -DORCHID_MODULE=1
      -I${CMAKE_SOURCE_DIR}/libs/function_abi/include)
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  cmake_path(RELATIVE_PATH output BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE shown)
  add_custom_command(OUTPUT ${output}
    COMMAND ${compiler} ${flags} ${ARGN} -MD -MF ${output}.d -MT ${output} -o ${output} ${source}
    DEPENDS ${source} DEPFILE ${output}.d
    COMMENT "Bitcode ${shown}" VERBATIM)
endfunction()
