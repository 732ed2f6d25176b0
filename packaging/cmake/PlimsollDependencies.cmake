# SPDX-License-Identifier: Apache-2.0
# Third-party libraries. Debian packages give all but LibTorch, which packaging/setup unpacks into .deps/venv.

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(ZLIB REQUIRED)
find_package(zstd REQUIRED)

# Unicode's tables and regular expressions, for tokenizers.
find_path(PLIMSOLL_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(PLIMSOLL_UTF8PROC utf8proc REQUIRED)
find_path(PLIMSOLL_PCRE2_INCLUDE pcre2.h REQUIRED)
find_library(PLIMSOLL_PCRE2 pcre2-8 REQUIRED)
add_library(plimsoll_unicode INTERFACE)
target_include_directories(plimsoll_unicode SYSTEM INTERFACE "${PLIMSOLL_UTF8PROC_INCLUDE}" "${PLIMSOLL_PCRE2_INCLUDE}")
target_link_libraries(plimsoll_unicode INTERFACE "${PLIMSOLL_UTF8PROC}" "${PLIMSOLL_PCRE2}")

# Debian builds cpp-httplib with TLS and compression, and its classes have other members without these definitions.
add_library(plimsoll_httplib INTERFACE)
target_compile_definitions(plimsoll_httplib INTERFACE
  CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
target_link_libraries(plimsoll_httplib INTERFACE cpp-httplib)

if(PLIMSOLL_TESTS)
  find_package(GTest REQUIRED)
endif()

if(PLIMSOLL_STUDIO)
  find_package(Qt6 6.4 REQUIRED COMPONENTS Core Gui Widgets Charts Test)
endif()

# LibTorch: libtorch_cpu and libc10 only, so that the programs start on a machine without CUDA.
# find_package(Torch) is not used: it pulls in every CUDA library of the wheel and probes for nvcc.
if(PLIMSOLL_ENGINE)
  # Seals what the ranks tell one another through the store.
  find_path(PLIMSOLL_SODIUM_INCLUDE sodium.h REQUIRED)
  find_library(PLIMSOLL_SODIUM sodium REQUIRED)
  add_library(plimsoll_sodium INTERFACE)
  add_library(plimsoll::sodium ALIAS plimsoll_sodium)
  target_include_directories(plimsoll_sodium SYSTEM INTERFACE "${PLIMSOLL_SODIUM_INCLUDE}")
  target_link_libraries(plimsoll_sodium INTERFACE "${PLIMSOLL_SODIUM}")
  set(PLIMSOLL_TORCH_DIR "" CACHE PATH "The wheel's torch folder (holds include/ and lib/)")
  if(NOT PLIMSOLL_TORCH_DIR)
    file(GLOB torch_dirs "${CMAKE_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch")
    list(GET torch_dirs 0 PLIMSOLL_TORCH_DIR)
  endif()
  if(NOT EXISTS "${PLIMSOLL_TORCH_DIR}/lib/libtorch_cpu.so")
    message(FATAL_ERROR "LibTorch is missing: run packaging/setup (it unpacks the wheel into .deps/), "
                        "or configure with -DPLIMSOLL_ENGINE=OFF to build without the training engine.")
  endif()
  get_filename_component(site_packages "${PLIMSOLL_TORCH_DIR}" DIRECTORY)
  add_library(plimsoll_torch INTERFACE)
  add_library(plimsoll::torch ALIAS plimsoll_torch)
  target_include_directories(plimsoll_torch SYSTEM INTERFACE
    "${PLIMSOLL_TORCH_DIR}/include" "${PLIMSOLL_TORCH_DIR}/include/torch/csrc/api/include")
  # The wheel's include folder holds its own fmt (12, no library), which files that see LibTorch take: header-only there.
  target_compile_definitions(plimsoll_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY)
  target_link_libraries(plimsoll_torch INTERFACE
    "${PLIMSOLL_TORCH_DIR}/lib/libtorch_cpu.so" "${PLIMSOLL_TORCH_DIR}/lib/libc10.so")
  target_link_options(plimsoll_torch INTERFACE
    "-Wl,-rpath,${PLIMSOLL_TORCH_DIR}/lib" "-Wl,-rpath-link,${PLIMSOLL_TORCH_DIR}/lib"
    "-Wl,-rpath-link,${site_packages}/nvidia/cu13/lib")
endif()
