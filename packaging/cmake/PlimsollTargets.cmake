# SPDX-License-Identifier: Apache-2.0
# One INTERFACE target carries the standard, the definitions and the warnings; plimsoll_library() and
# plimsoll_program() make every target of the tree, so that the link line of each states what it may use.

add_library(plimsoll_flags INTERFACE)
target_compile_features(plimsoll_flags INTERFACE cxx_std_20)
target_include_directories(plimsoll_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(plimsoll_flags INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Wno-unused-parameter
  -fPIC)
# In a unity build the names of one file are global to the next, and every class seems to be of the header's user.
if(PLIMSOLL_UNITY)
  target_compile_options(plimsoll_flags INTERFACE -Wshadow=local $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
else()
  target_compile_options(plimsoll_flags INTERFACE -Wshadow)
endif()
if(PLIMSOLL_WERROR)
  target_compile_options(plimsoll_flags INTERFACE -Werror)
endif()
if(PLIMSOLL_SANITIZER)
  # Undefined behaviour that is only printed would pass every test: it ends the program.
  add_compile_options(-fsanitize=${PLIMSOLL_SANITIZER} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PLIMSOLL_SANITIZER})
endif()

# mold links in a fraction of the time where it is installed.
find_program(PLIMSOLL_MOLD mold)
if(PLIMSOLL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# ccache can share precompiled headers only when they are preprocessed on use.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)

# Reads the arguments that plimsoll_library() and plimsoll_program() share and sets ARG_SOURCES: those given, or the
# folder's own .cpp and .h files, less EXCEPT (names without their ending).
macro(plimsoll_arguments)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;STEMS;EXCEPT;EXPOSES;USES;LINKS" ${ARGN})
  if(ARG_STEMS)
    foreach(stem IN LISTS ARG_STEMS)
      file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${stem}.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/${stem}.h")
      list(APPEND ARG_SOURCES ${found})
    endforeach()
  elseif(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
    foreach(stem IN LISTS ARG_EXCEPT)
      list(FILTER ARG_SOURCES EXCLUDE REGEX "/${stem}[.](cpp|h)$")
    endforeach()
  endif()
  list(TRANSFORM ARG_EXPOSES PREPEND plimsoll::)
  list(TRANSFORM ARG_USES PREPEND plimsoll::)
endmacro()

# The headers that most files of a kind of target read are compiled once and shared by all targets of that kind.
set(PLIMSOLL_HEADERS_core <nlohmann/json.hpp> <fmt/format.h> <tl/expected.hpp> <algorithm> <filesystem> <functional>
  <map> <optional> <string> <string_view> <vector>)
set(PLIMSOLL_HEADERS_torch <torch/torch.h>)
set(PLIMSOLL_HEADERS_tests <gmock/gmock.h> ${PLIMSOLL_HEADERS_core})
# Qt6::Test defines the folder of the build: a precompiled header for each of the two folders.
set(PLIMSOLL_HEADERS_widget_tests <gmock/gmock.h> <QtTest> <QtWidgets> ${PLIMSOLL_HEADERS_core})
set(PLIMSOLL_HEADERS_window_tests ${PLIMSOLL_HEADERS_widget_tests})
set(PLIMSOLL_HEADERS_torch_tests <torch/torch.h> <gmock/gmock.h>)
set(PLIMSOLL_HEADERS_models <QtGui> ${PLIMSOLL_HEADERS_core})
set(PLIMSOLL_HEADERS_widgets <QtWidgets> ${PLIMSOLL_HEADERS_core})

function(plimsoll_precompile target kind)
  # A precompiled header is taken only where the same names are defined.
  if(kind MATCHES "tests$")
    target_compile_definitions(${target} PRIVATE PLIMSOLL_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PLIMSOLL_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  endif()
  get_property(first GLOBAL PROPERTY PLIMSOLL_PRECOMPILED_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${PLIMSOLL_HEADERS_${kind}})
    set_property(GLOBAL PROPERTY PLIMSOLL_PRECOMPILED_${kind} ${target})
  endif()
endfunction()

function(plimsoll_compile_quickly target kind)
  if(kind)
    plimsoll_precompile(${target} ${kind})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PLIMSOLL_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# plimsoll_library(plan EXPOSES base USES ...): target plimsoll_plan, alias plimsoll::plan, of the folder's files.
# EXPOSES names the plimsoll targets that its headers include, USES those that only its .cpp files include, LINKS any
# other library, PRECOMPILED the kind of precompiled header. STEMS or EXCEPT divide a folder between two targets.
function(plimsoll_library name)
  plimsoll_arguments(${ARGN})
  add_library(plimsoll_${name} STATIC ${ARG_SOURCES})
  add_library(plimsoll::${name} ALIAS plimsoll_${name})
  target_link_libraries(plimsoll_${name} PUBLIC plimsoll_flags ${ARG_EXPOSES} ${ARG_LINKS} PRIVATE ${ARG_USES})
  plimsoll_compile_quickly(plimsoll_${name} "${ARG_PRECOMPILED}")
endfunction()

# plimsoll_program(NAME USES ... LINKS ...): a program in bin/.
function(plimsoll_program name)
  plimsoll_arguments(${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE plimsoll_flags ${ARG_USES} ${ARG_LINKS})
  # Every object is compiled with -fPIC (plimsoll_flags), so that programs can share the libraries' precompiled headers.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  plimsoll_compile_quickly(${name} "${ARG_PRECOMPILED}")
endfunction()

# plimsoll_peers_test(NAME COMMAND ... [TIMEOUT seconds]): a ctest entry that needs the packages of other tools
# (packaging/setup --peers); label `peers`. Used inside if(PLIMSOLL_PEERS_TESTS).
set(PLIMSOLL_PEERS_PYTHON "${CMAKE_SOURCE_DIR}/.deps/venv/bin/python")
function(plimsoll_peers_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS peers TIMEOUT ${ARG_TIMEOUT})
endfunction()

# plimsoll_test(NAME USES ... [SOURCES ...] [ENVIRONMENT K=V ...] [TIMEOUT seconds]): a GoogleTest program of the
# *_test.cpp files in the folder and below it, or of SOURCES, and its ctest entry.
function(plimsoll_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT;PRECOMPILED" "SOURCES;USES;LINKS;ENVIRONMENT;LABELS" ${ARGN})
  if(NOT TEST_SOURCES)
    file(GLOB_RECURSE TEST_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
  endif()
  if(NOT TEST_PRECOMPILED)
    set(TEST_PRECOMPILED tests)
  endif()
  plimsoll_program(test_${name} SOURCES ${TEST_SOURCES} USES ${TEST_USES} LINKS ${TEST_LINKS} GTest::gmock GTest::gtest_main)
  # Tests are not put together to larger files: equal names in their anonymous namespaces are common.
  set_target_properties(test_${name} PROPERTIES UNITY_BUILD OFF)
  plimsoll_precompile(test_${name} ${TEST_PRECOMPILED})
  add_test(NAME ${name} COMMAND test_${name})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  if(PLIMSOLL_SANITIZER)
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 5")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT})
  if(TEST_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${TEST_ENVIRONMENT}")
  endif()
  if(TEST_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}")
  endif()
endfunction()
