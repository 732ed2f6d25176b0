# SPDX-License-Identifier: Apache-2.0
# One INTERFACE target carries the standard, the definitions and the warnings; plimsoll_library() and
# plimsoll_program() make every target of the tree, so that the link line of each states what it may use.

add_library(plimsoll_flags INTERFACE)
target_compile_features(plimsoll_flags INTERFACE cxx_std_20)
target_include_directories(plimsoll_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(plimsoll_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-unused-parameter)
if(PLIMSOLL_WERROR)
  target_compile_options(plimsoll_flags INTERFACE -Werror)
endif()
target_compile_definitions(plimsoll_flags INTERFACE PLIMSOLL_VERSION="${PROJECT_VERSION}")
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

# plimsoll_library(plan SOURCES a.cpp b.cpp USES base ...): target plimsoll_plan, alias plimsoll::plan.
# USES names other plimsoll targets, LINKS any other library.
function(plimsoll_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINKS" ${ARGN})
  add_library(plimsoll_${name} STATIC ${ARG_SOURCES})
  add_library(plimsoll::${name} ALIAS plimsoll_${name})
  set(uses "")
  foreach(use IN LISTS ARG_USES)
    list(APPEND uses plimsoll::${use})
  endforeach()
  target_link_libraries(plimsoll_${name} PUBLIC plimsoll_flags ${uses} ${ARG_LINKS})
endfunction()

# plimsoll_program(NAME SOURCES ... USES ... LINKS ...): a program in bin/.
function(plimsoll_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set(uses "")
  foreach(use IN LISTS ARG_USES)
    list(APPEND uses plimsoll::${use})
  endforeach()
  target_link_libraries(${name} PRIVATE plimsoll_flags ${uses} ${ARG_LINKS})
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

# plimsoll_test(NAME SOURCES ... USES ... [ENVIRONMENT K=V ...] [LABELS ...] [TIMEOUT seconds]): a GoogleTest
# program and its ctest entry.
function(plimsoll_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;USES;LINKS;ENVIRONMENT;LABELS" ${ARGN})
  plimsoll_program(test_${name} SOURCES ${ARG_SOURCES} USES ${ARG_USES} LINKS ${ARG_LINKS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE
    PLIMSOLL_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    PLIMSOLL_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  add_test(NAME ${name} COMMAND test_${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(PLIMSOLL_SANITIZER)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  if(ARG_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()
