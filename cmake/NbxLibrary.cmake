# SPDX-License-Identifier: Apache-2.0
# libnbx: every src/**/*.cpp that is no test. The suffix is the build rule:
#   *.test.cpp      a unit test (NbxTests.cmake)
#   *.cpu.cpp       a SIMD kernel: optimised in every preset
#   *.onednn.cpp, onednn*.cpp   only with oneDNN       *.onnx.cpp, onnx*.cpp and folder onnx/   only with ONNX
#   png, jpeg, sndfile likewise: png.cpp, *.png.cpp, png_*.cpp
include_guard()
file(GLOB_RECURSE nbx_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
list(SORT nbx_sources)

# Sources that an option or NBX_ONLY_FAMILIES leaves out; tests obey the same rule.
function(nbx_select list)
  set(kept "")
  foreach(file IN LISTS ${list})
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}/src" "${file}")
    if(NBX_ONLY_FAMILIES AND path MATCHES "^ops/([^/]+)/" AND NOT CMAKE_MATCH_1 IN_LIST NBX_ONLY_FAMILIES)
      continue()
    endif()
    set(skip FALSE)
    foreach(pair onnx:NBX_WITH_ONNX onednn:NBX_WITH_ONEDNN png:NBX_WITH_IMAGES jpeg:NBX_WITH_IMAGES sndfile:NBX_WITH_SOUND)
      string(REPLACE ":" ";" pair "${pair}")
      list(POP_FRONT pair role option)
      if(NOT ${option} AND path MATCHES "[./]${role}[_./]")
        set(skip TRUE)
      endif()
    endforeach()
    if(NOT skip)
      list(APPEND kept "${file}")
    endif()
  endforeach()
  set(${list} "${kept}" PARENT_SCOPE)
endfunction()

nbx_select(nbx_sources)
set(nbx_test_sources ${nbx_sources})
list(FILTER nbx_test_sources INCLUDE REGEX "\\.test\\.cpp$")
list(FILTER nbx_sources EXCLUDE REGEX "\\.test\\.cpp$")
set(nbx_kernel_sources ${nbx_sources})
list(FILTER nbx_kernel_sources INCLUDE REGEX "\\.cpu\\.cpp$")

add_library(nbx STATIC ${nbx_sources} ${NBX_REGISTRY_SOURCE} ${NBX_ONNX_SOURCES})
add_library(nbx::nbx ALIAS nbx)
target_include_directories(nbx
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>"
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
if(NBX_WITH_ONNX)
  target_include_directories(nbx SYSTEM PRIVATE "${NBX_ONNX_DIR}")
endif()
target_compile_features(nbx PUBLIC cxx_std_20)
target_compile_definitions(nbx PRIVATE NBX_VERSION="${PROJECT_VERSION}" ${NBX_HAVE_DEFINITIONS})
target_link_libraries(nbx
  PRIVATE ${NBX_CORE_DEPENDENCIES} ${NBX_OPTIONAL_DEPENDENCIES} $<BUILD_INTERFACE:nbx-warnings>)
if(nbx_kernel_sources)
  set_source_files_properties(${nbx_kernel_sources} PROPERTIES
    COMPILE_OPTIONS "${NBX_KERNEL_OPTIONS}")
endif()
# Parsers of text and protobuf: large headers whose code the optimiser spends seconds on, and nothing that runs often.
set(nbx_parser_sources ${nbx_sources})
list(FILTER nbx_parser_sources INCLUDE REGEX "/io/(nbx_json|onnx|safetensors)[^/]*\\.cpp$")
set_source_files_properties(${nbx_parser_sources} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")

# What our own programs and tests see beside the public headers: src/, the dependencies, the NBX_HAVE_ switches.
add_library(nbx-inside INTERFACE)
target_link_libraries(nbx-inside INTERFACE nbx nbx-warnings ${NBX_CORE_DEPENDENCIES} ${NBX_OPTIONAL_DEPENDENCIES})
target_include_directories(nbx-inside INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
target_compile_definitions(nbx-inside INTERFACE ${NBX_HAVE_DEFINITIONS} NBX_VERSION="${PROJECT_VERSION}")
if(NBX_WITH_ONNX)
  target_include_directories(nbx-inside SYSTEM INTERFACE "${NBX_ONNX_DIR}")
endif()
