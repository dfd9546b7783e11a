# Functions in the program that calls them: one binary, nothing to deploy. Part of the CMake package Orchid.
include_guard(GLOBAL)

#   orchid_add_functions(TARGET FILE... [BITCODE_OPTIONS OPTION...])
#
# Compiles C and C++ files with ORCHID_ENTRY or ORCHID_FUNCTION twice: into TARGET, as any of its sources, and to one module of
# bitcode that becomes an object of TARGET. They see TARGET's include directories and definitions both times; compiler options are
# those of `orchid build` for the bitcode, followed by BITCODE_OPTIONS. The bitcode is for the processor that TARGET is built for, also
# where that is not this machine's. TARGET links Orchid::sdk. A file belongs to one target of a directory; several targets that want it
# link a library that has it.
function(orchid_add_functions target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "BITCODE_OPTIONS")
  set(files ${arg_UNPARSED_ARGUMENTS})
  if(NOT TARGET ${target} OR NOT files)
    message(FATAL_ERROR "orchid_add_functions(TARGET FILE...): '${target}' must be a target, and a file must follow")
  endif()
  get_property(count TARGET ${target} PROPERTY ORCHID_MODULES)
  if(NOT count)
    set(count 0)
  endif()
  math(EXPR next "${count} + 1")
  set_property(TARGET ${target} PROPERTY ORCHID_MODULES ${next})
  string(MAKE_C_IDENTIFIER "orchid_module_${target}_${count}" symbol)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${symbol})
  file(MAKE_DIRECTORY ${folder})

  set(parts)
  foreach(file IN LISTS files)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE source)
    get_property(owner SOURCE ${source} PROPERTY ORCHID_MODULE)
    if(owner)
      message(FATAL_ERROR "orchid_add_functions: ${file} is in the module ${owner} already; link a library that has it")
    endif()
    set_property(SOURCE ${source} PROPERTY ORCHID_MODULE ${symbol})
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ORCHID_EMBEDDED_MODULE=${symbol})
    list(LENGTH parts index)
    _orchid_bitcode(${target} ${source} ${folder}/${index}.bc "${arg_BITCODE_OPTIONS}")
    list(APPEND parts ${folder}/${index}.bc)
    target_sources(${target} PRIVATE ${source})
  endforeach()

  list(LENGTH parts many)
  set(module ${parts})
  if(many GREATER 1)
    _orchid_tool(ORCHID_LLVM_LINK llvm-link-19 llvm-19)
    set(module ${folder}/module.bc)
    add_custom_command(OUTPUT ${module} COMMAND ${ORCHID_LLVM_LINK} -o ${module} ${parts} DEPENDS ${parts}
      COMMENT "Module of ${target}" VERBATIM)
  endif()
  _orchid_embed(${target} ${symbol} ${folder} ${module})
endfunction()

# Finds a program, or says where to get it.
macro(_orchid_tool variable program package)
  find_program(${variable} ${program})
  if(NOT ${variable})
    message(FATAL_ERROR "orchid_add_functions needs ${program}, which was not found. On Debian: apt install ${package}. "
                        "Elsewhere: cmake -D${variable}=/path/to/it (LLVM 19)")
  endif()
endmacro()

function(_orchid_bitcode target source output options)
  if(source MATCHES "\\.c$")
    _orchid_tool(ORCHID_CLANG clang-19 clang-19)
    set(compiler ${ORCHID_CLANG} -std=gnu17)
  else()
    _orchid_tool(ORCHID_CLANGXX clang++-19 clang-19)
    set(compiler ${ORCHID_CLANGXX} -std=c++23)
  endif()
  # As the program is: by itself clang makes bitcode for the machine that builds.
  set(machine)
  if(CMAKE_CROSSCOMPILING)
    set(machine --target=${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
    if(CMAKE_SYSROOT)
      list(APPEND machine --sysroot=${CMAKE_SYSROOT})
    endif()
  endif()
  set(includes $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  # As cli/src/toolchain/build_plan.cpp has them.
  add_custom_command(OUTPUT ${output}
    COMMAND ${compiler} ${machine} -O2 -flto=thin -g0 -c -emit-llvm -Wall -Wextra -DORCHID_MODULE=1
            "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
            -I$<JOIN:$<TARGET_PROPERTY:Orchid::function_abi,INTERFACE_INCLUDE_DIRECTORIES>,;-I>
            ${options} -MD -MF ${output}.d -MT ${output} -o ${output} ${source}
    DEPENDS ${source} DEPFILE ${output}.d COMMENT "Bitcode of ${source}" COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# The module as an object of the target, read by the assembler: bytes between the symbols `symbol` and `symbol`_end.
function(_orchid_embed target symbol folder module)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(extension c)
  if("CXX" IN_LIST languages)
    set(extension cpp)
  endif()
  set(holder ${folder}/${symbol}.${extension})
  file(CONFIGURE OUTPUT ${holder} @ONLY CONTENT [=[
// Made by orchid_add_functions.
__asm__(
    ".section .rodata.orchid_module,\"a\",%progbits\n"
    ".balign 64\n"
    ".global @symbol@\n.hidden @symbol@\n"
    "@symbol@:\n"
    ".incbin \"@module@\"\n"
    ".global @symbol@_end\n.hidden @symbol@_end\n"
    "@symbol@_end:\n"
    ".byte 0\n"
    ".previous\n");
]=])
  # An assembler statement is lost to link-time optimisation of some compilers.
  set_source_files_properties(${holder} PROPERTIES OBJECT_DEPENDS ${module} COMPILE_OPTIONS -fno-lto SKIP_PRECOMPILE_HEADERS ON
                              SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${holder})
endfunction()
