# SPDX-License-Identifier: Apache-2.0
# `cmake --install build/release --prefix DIR`, then find_package(nbx) gives nbx::nbx. tests/package/ proves it.
include_guard()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(nbx_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/nbx")

install(TARGETS nbx EXPORT nbxTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/nbx" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT library
  FILES_MATCHING PATTERN "*.h")
install(EXPORT nbxTargets NAMESPACE nbx:: DESTINATION "${nbx_package_dir}" COMPONENT library)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/nbxConfig.cmake.in" "${CMAKE_BINARY_DIR}/nbxConfig.cmake"
  INSTALL_DESTINATION "${nbx_package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/nbxConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/nbxConfig.cmake" "${CMAKE_BINARY_DIR}/nbxConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindSndFile.cmake" DESTINATION "${nbx_package_dir}" COMPONENT library)
# pkg-config, for C programs and other build systems. The library is static: what it needs is named for everybody.
set(NBX_PC_REQUIRES "fmt libhwy zlib")
set(NBX_PC_LIBS "-lstdc++ -lm -pthread")
if(NBX_WITH_ONNX)
  string(APPEND NBX_PC_REQUIRES " protobuf-lite")
endif()
if(NBX_WITH_IMAGES)
  string(APPEND NBX_PC_REQUIRES " libpng libjpeg")
endif()
if(NBX_WITH_SOUND)
  string(APPEND NBX_PC_REQUIRES " sndfile")
endif()
if(NBX_WITH_ONEDNN)
  string(PREPEND NBX_PC_LIBS "-ldnnl ")  # Debian's oneDNN has no .pc file
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/nbx.pc.in" "${CMAKE_BINARY_DIR}/nbx.pc.in" @ONLY)
# The prefix is known only when installing.
install(CODE "set(text \"\")
  file(READ \"${CMAKE_BINARY_DIR}/nbx.pc.in\" text)
  get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
  string(REGEX REPLACE \"^prefix=[^\n]*\" \"prefix=\${prefix}\" text \"\${text}\")
  file(WRITE \"${CMAKE_BINARY_DIR}/nbx.pc\" \"\${text}\")" COMPONENT library)
install(FILES "${CMAKE_BINARY_DIR}/nbx.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT library)
foreach(tool nbx-command nbx-golden)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  endif()
endforeach()

# The outside program would have to be built with the same sanitizers; the other presets prove the package.
if(NBX_BUILD_TESTS AND NOT NBX_SANITIZE)
  add_test(NAME package COMMAND "${CMAKE_COMMAND}"
    "-DBUILD=${CMAKE_BINARY_DIR}" "-DSOURCE=${PROJECT_SOURCE_DIR}/tests/package" "-DCXX=${CMAKE_CXX_COMPILER}"
    "-DVERSION=${PROJECT_VERSION}" -P "${PROJECT_SOURCE_DIR}/tests/package/run.cmake")
  set_tests_properties(package PROPERTIES TIMEOUT 300)
endif()
