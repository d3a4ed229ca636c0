/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a model, prints what it wants, runs it once on zeros (free extents are 1) and prints what comes out:
 *   cc run.c $(pkg-config --cflags --libs nbx) -o run && ./run MODEL.onnx */
#include <nbx/c_api.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, nbx_last_error());
  return 1;
}

static void print(const char* role, const char* name, nbx_dtype dtype, int32_t rank, const int64_t* dims) {
  printf("%s %s: %s[", role, name, nbx_dtype_name(dtype));
  for (int32_t d = 0; d < rank; ++d) printf(dims[d] < 0 ? "%s?" : "%s%lld", d ? ", " : "", (long long)dims[d]);
  printf("]\n");
}

/* Zeros for one input; 0 when memory is gone. */
static int make_zeros(const nbx_value_info* info, nbx_tensor* t) {
  int64_t* dims = malloc((size_t)(info->rank + 1) * sizeof(int64_t));
  if (!dims) return 0;
  t->bytes = nbx_dtype_size(info->dtype);
  for (int32_t d = 0; d < info->rank; ++d) {
    dims[d] = info->dims[d] < 0 ? 1 : info->dims[d];
    t->bytes *= (size_t)dims[d];
  }
  t->name = info->name;
  t->dtype = info->dtype;
  t->rank = info->rank;
  t->dims = dims;
  t->data = calloc(t->bytes ? t->bytes : 1, 1);
  return t->data != NULL;
}

int main(int count, char** arguments) {
  nbx_model* model = NULL;
  nbx_session* session = NULL;
  nbx_result* result = NULL;
  nbx_session_options options = {sizeof options, 2, 0, 0};
  if (count != 2) {
    fprintf(stderr, "usage: %s MODEL\n", arguments[0]);
    return 2;
  }
  if (nbx_model_load(arguments[1], &model)) return failed("load");
  if (nbx_session_new(model, &options, &session)) return failed("session");

  size_t inputs = nbx_model_input_count(model);
  nbx_tensor* given = calloc(inputs ? inputs : 1, sizeof *given);
  if (!given) return 1;
  for (size_t i = 0; i < inputs; ++i) {
    nbx_value_info info;
    if (nbx_model_input(model, i, &info)) return failed("input");
    if (info.rank < 0 || info.dtype == NBX_UNKNOWN_DTYPE) {
      fprintf(stderr, "input %s has no declared rank or dtype\n", info.name);
      return 1;
    }
    print("input", info.name, info.dtype, info.rank, info.dims);
    if (!make_zeros(&info, &given[i])) return 1;
  }

  if (nbx_session_run(session, given, inputs, &result)) return failed("run");
  for (size_t i = 0; i < nbx_result_count(result); ++i) {
    nbx_tensor t;
    if (nbx_result_output(result, i, &t)) return failed("output");
    print("output", t.name, t.dtype, t.rank, t.dims);
    if (t.dtype == NBX_FLOAT32 && t.bytes) printf("  first element %g\n", (double)*(const float*)t.data);
  }

  nbx_result_free(result);
  nbx_session_free(session);
  nbx_model_free(model);
  for (size_t i = 0; i < inputs; ++i) {
    free((void*)given[i].data);
    free((void*)given[i].dims);
  }
  free(given);
  return 0;
}
