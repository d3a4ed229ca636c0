# SPDX-License-Identifier: Apache-2.0
# Compiler flags. Build types are our own so that each says exactly what it does.
include_guard()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Dev, Release or Sanitize" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g0 -DNDEBUG")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

# Multiply-adds are fused where the source says so and nowhere else: results do not depend on the compiler's taste.
add_compile_options(-ffp-contract=off)
if(NBX_SANITIZE)
  add_compile_options(-fsanitize=${NBX_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${NBX_SANITIZE})
endif()

# Launchers: ccache when found; NBX_COMPILE_TIMES writes CPU seconds a file for ./nbx-dev budget.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  if(NBX_CCACHE)
    find_program(NBX_CCACHE_PROGRAM ccache)
  endif()
  set(launcher "")
  if(NBX_CCACHE AND NBX_CCACHE_PROGRAM)
    set(launcher "${NBX_CCACHE_PROGRAM}")
  endif()
  if(NBX_COMPILE_TIMES)
    set(timer "${PROJECT_SOURCE_DIR}/scripts/timed-compile")
    set(log "NBX_COMPILE_LOG=${CMAKE_BINARY_DIR}/compile_seconds.tsv")
    if(launcher)
      # Under ccache the timer runs with real compilations only.
      set(launcher env "${log}" "CCACHE_PREFIX=${timer}" "${launcher}")
    else()
      set(launcher env "${log}" "${timer}")
    endif()
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()

# For our own sources; generated and outside code is compiled without.
add_library(nbx-warnings INTERFACE)
target_compile_options(nbx-warnings INTERFACE -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> $<$<BOOL:${NBX_WERROR}>:-Werror>)
# g++ 12 reports these for correct code in its own headers once std::vector and std::string are inlined.
target_compile_options(nbx-warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-restrict -Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-field-initializers>)

# Flags of *.cpu.cpp: a kernel at -O1 is too slow to test with; under the sanitizers the build time counts more.
set(NBX_KERNEL_OPTIONS "")
if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  list(APPEND NBX_KERNEL_OPTIONS -O2)
endif()
# What the switch means is in src/backend/cpu/targets.h. One target is AVX2 there, so a CPU without it gets all of them.
if(NBX_SIMD_TARGETS STREQUAL "one")
  set(nbx_one TRUE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND EXISTS /proc/cpuinfo)
    file(READ /proc/cpuinfo cpuinfo)
    if(NOT cpuinfo MATCHES "[ \t]avx2[ \n]")
      set(nbx_one FALSE)
      message(STATUS "nbx: this CPU has no AVX2; every SIMD target is built")
    endif()
  endif()
  if(nbx_one)
    add_compile_definitions(NBX_DEV_ONE_TARGET=1)
  endif()
elseif(NOT NBX_SIMD_TARGETS STREQUAL "all")
  message(FATAL_ERROR "NBX_SIMD_TARGETS is '${NBX_SIMD_TARGETS}'; it can be all or one")
endif()
