# SPDX-License-Identifier: Apache-2.0
# docs/ops.md is what `nbx ops --markdown` prints. -DNBX=<the command> -DDOC=<docs/ops.md>
execute_process(COMMAND "${NBX}" ops --markdown OUTPUT_VARIABLE made RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "nbx ops --markdown ended with ${code}")
endif()
file(READ "${DOC}" kept)
if(NOT made STREQUAL kept)
  message(FATAL_ERROR "docs/ops.md is not what the declarations say; make it anew: build/release/bin/nbx ops --markdown > docs/ops.md")
endif()
