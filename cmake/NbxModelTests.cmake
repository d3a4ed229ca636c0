# SPDX-License-Identifier: Apache-2.0
# The real models against the references in tests/models/. Weights: .models, where ./nbx-dev test installs the packages, or the
# folder that the environment's NBX_MODELS_DIR names. Release only: other builds would take minutes for the same answers.
include_guard()
if(NOT NBX_WITH_ONNX OR NBX_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT TARGET nbx-golden)
  return()
endif()
find_package(Python3 QUIET COMPONENTS Interpreter)
nbx_need("${Python3_Interpreter_FOUND}" "Python 3" python3 NBX_BUILD_TESTS)
file(GLOB archives CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/models/*.tar.xz")
foreach(archive IN LISTS archives)
  cmake_path(GET archive FILENAME name)
  string(REPLACE ".tar.xz" "" name "${name}")
  add_test(NAME models-${name} COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/models/models.py" run "${name}"
    --golden $<TARGET_FILE:nbx-golden> --into "${CMAKE_BINARY_DIR}/models" --weights "${PROJECT_SOURCE_DIR}/.models")
  # Two threads each: side by side they would only wait for each other.
  set_tests_properties(models-${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 PROCESSORS 2)
endforeach()
