# Warnings are errors, in every preset and on every target of ours.
add_library(orchid_options INTERFACE)
target_compile_options(orchid_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>
  # GCC 12 warns wrongly about std::string's own operator+ (GCC bugs 105329, 105651)
  # and about what std::expected and std::optional hold (105562). In a unity build it takes each source for a header,
  # in which a class may not have members of types without a name.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-maybe-uninitialized>)
target_compile_definitions(orchid_options INTERFACE ORCHID_VERSION="${PROJECT_VERSION}")
if(ORCHID_SANITIZE)
  # The check of virtual tables makes pipes, which the sandbox forbids, and needs type information, which LLVM's users lack.
  target_compile_options(orchid_options INTERFACE -fsanitize=${ORCHID_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -fno-sanitize=vptr)
  if(ORCHID_SANITIZE MATCHES thread)
    # GCC warns that it does not model fences. Ours order accesses between processes, which it does not see anyway.
    target_compile_options(orchid_options INTERFACE -Wno-tsan)
  endif()
  target_link_options(orchid_options INTERFACE -fsanitize=${ORCHID_SANITIZE})
  target_compile_definitions(orchid_options INTERFACE ORCHID_SANITIZED=1)
endif()

# A library of the project: sources in src/, headers in include/, namespaced alias Orchid::<name>.
function(orchid_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS;PRIVATE_LINKS")
  add_library(orchid_${name} STATIC ${arg_SOURCES})
  target_include_directories(orchid_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                             PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(orchid_${name} PUBLIC ${arg_LINKS} PRIVATE $<BUILD_INTERFACE:orchid_options> ${arg_PRIVATE_LINKS})
  add_library(Orchid::${name} ALIAS orchid_${name})
endfunction()

function(orchid_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE orchid_options ${arg_LINKS})
endfunction()

# A unit test binary: tests/unit/<module>/*_test.cpp, run as one ctest entry named unit.<module>.
function(orchid_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(unit_${name} ${arg_SOURCES})
  target_link_libraries(unit_${name} PRIVATE orchid_options orchid_doctest_main ${arg_LINKS})
  # What is tested is optimised as its library is; optimising the tests takes longer than running them.
  target_compile_options(unit_${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
  add_test(NAME unit.${name} COMMAND unit_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS "unit;quick" TIMEOUT 120)
endfunction()
