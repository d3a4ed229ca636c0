# SPDX-License-Identifier: Apache-2.0
# The list of ops is the list of folders: src/ops/<family>/<op>/<op>.op.cpp, each with `nbx::decls::<op>()`.
include_guard()
file(GLOB nbx_op_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/ops/*/*/*.op.cpp")
list(SORT nbx_op_files)

set(nbx_op_stems "")
set(nbx_op_declarations "")
set(nbx_op_makers "")
set(nbx_op_families "")
foreach(file IN LISTS nbx_op_files)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}/src/ops" "${file}")
  string(REGEX MATCH "^[^/]+" family "${path}")
  if(NBX_ONLY_FAMILIES AND NOT family IN_LIST NBX_ONLY_FAMILIES)
    continue()
  endif()
  get_filename_component(stem "${file}" NAME)
  string(REGEX REPLACE "\\.op\\.cpp$" "" stem "${stem}")
  if(NOT stem MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "src/ops/${path}: '${stem}' cannot be a function name; use lower case letters, digits and _")
  endif()
  if(stem MATCHES "^(and|auto|bool|break|case|catch|char|class|const|continue|default|delete|do|double|else|enum|extern|false|float|for|if|int|long|new|not|operator|or|private|public|return|short|signed|static|struct|switch|template|this|throw|true|try|union|unsigned|using|virtual|void|while|xor)$")
    message(FATAL_ERROR "src/ops/${path}: '${stem}' is a word of C++ and cannot be a function name; call it ${stem}_.op.cpp")
  endif()
  list(FIND nbx_op_stems "${stem}" index)
  if(NOT index EQUAL -1)
    list(GET nbx_op_paths ${index} first)
    message(FATAL_ERROR "op file '${stem}.op.cpp' exists twice: src/ops/${first} and src/ops/${path}; rename one of them")
  endif()
  list(APPEND nbx_op_stems "${stem}")
  list(APPEND nbx_op_paths "${path}")
  string(APPEND nbx_op_declarations "Decls ${stem}();  // ${path}\n")
  string(APPEND nbx_op_makers "      decls::${stem},\n")
  string(APPEND nbx_op_families "      \"${family}\",\n")
endforeach()

set(NBX_REGISTRY_SOURCE "")
if(EXISTS "${PROJECT_SOURCE_DIR}/src/ops/declare.h")
  set(NBX_REGISTRY_SOURCE "${CMAKE_BINARY_DIR}/registry.cpp")
  # file(CONFIGURE) leaves an unchanged file alone, so a re-scan rebuilds nothing.
  file(CONFIGURE OUTPUT "${NBX_REGISTRY_SOURCE}" @ONLY CONTENT
"// Generated from src/ops/*/*/*.op.cpp at configure time.
#include <vector>

#include \"ops/declare.h\"

namespace nbx::decls {
@nbx_op_declarations@}  // namespace nbx::decls

namespace nbx {
std::vector<Decls (*)()> all_decl_makers() {
  return {
@nbx_op_makers@  };
}

// The family (folder) of each maker, in the same order.
std::vector<const char*> all_decl_families() {
  return {
@nbx_op_families@  };
}
}  // namespace nbx
")
endif()
list(LENGTH nbx_op_stems nbx_op_count)
message(STATUS "nbx: ${nbx_op_count} op folders")
