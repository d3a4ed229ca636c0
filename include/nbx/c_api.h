/* SPDX-License-Identifier: Apache-2.0 */
/* nbx for C and for languages that speak C: load a model, ask what it wants, run it.
 *
 *   nbx_model* model = NULL;
 *   nbx_session* session = NULL;
 *   nbx_result* result = NULL;
 *   if (nbx_model_load("model.onnx", &model) || nbx_session_new(model, NULL, &session)) puts(nbx_last_error());
 *
 * Binary interface: fixed-width integers, pointers and the structures below, whose layout never changes. A structure
 * that may grow starts with `size`, which the caller sets to sizeof: a newer library never touches more than that.
 * Every function that can fail answers with a status, and nbx_last_error() has the text. No exception leaves the
 * library. */
#ifndef NBX_C_API_H
#define NBX_C_API_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t nbx_status;
enum {
  NBX_OK = 0,
  NBX_ERROR_VALUE = 1,       /* an argument's value is not allowed */
  NBX_ERROR_SHAPE = 2,       /* shapes do not fit together or are impossible */
  NBX_ERROR_DTYPE = 3,       /* a dtype is not allowed or not supported here */
  NBX_ERROR_INDEX = 4,       /* out of range */
  NBX_ERROR_TYPE = 5,        /* a wrong kind of argument */
  NBX_ERROR_UNSUPPORTED = 6, /* valid, but nbx cannot do it */
  NBX_ERROR_FILE = 7,        /* a file cannot be read, or its content is malformed */
  NBX_ERROR_BUDGET = 8,      /* does not fit into memory */
  NBX_ERROR_CANCELLED = 9,   /* stopped by nbx_session_cancel */
  NBX_ERROR_INTERNAL = 10    /* a defect of nbx */
};

typedef int32_t nbx_dtype;
enum {
  NBX_UNKNOWN_DTYPE = 0,
  NBX_FLOAT32 = 1,
  NBX_FLOAT64 = 2,
  NBX_FLOAT16 = 3,
  NBX_BFLOAT16 = 4,
  NBX_FLOAT8_E4M3FN = 5,
  NBX_FLOAT8_E5M2 = 6,
  NBX_INT8 = 7,
  NBX_INT16 = 8,
  NBX_INT32 = 9,
  NBX_INT64 = 10,
  NBX_UINT8 = 11,
  NBX_UINT16 = 12,
  NBX_UINT32 = 13,
  NBX_UINT64 = 14,
  NBX_BOOL = 15, /* one byte, 0 or 1 */
  NBX_COMPLEX64 = 16,
  NBX_COMPLEX128 = 17
};

typedef struct nbx_model nbx_model;     /* immutable; sessions and threads may share it */
typedef struct nbx_session nbx_session; /* threads, memory and programs; runs of one session take turns */
typedef struct nbx_result nbx_result;   /* the outputs of a run */

/* An input or output as the model declares it. The pointers live as long as the model. */
typedef struct nbx_value_info {
  const char* name;
  nbx_dtype dtype;     /* NBX_UNKNOWN_DTYPE: not declared */
  int32_t rank;        /* -1: not declared */
  const int64_t* dims; /* rank extents; -1: free */
} nbx_value_info;

/* A dense tensor in row-major order in somebody's memory. */
typedef struct nbx_tensor {
  const char* name; /* of the input or output */
  const void* data; /* may be NULL when bytes is 0 */
  size_t bytes;     /* must be what dims and dtype say */
  nbx_dtype dtype;
  int32_t rank;
  const int64_t* dims;
} nbx_tensor;

typedef struct nbx_session_options {
  size_t size;          /* sizeof(nbx_session_options) */
  int32_t threads;      /* 0: one per core that the process may use; at most 1024 */
  int32_t max_programs; /* input shapes kept ready; 0: the default of 32 */
  int64_t memory_limit; /* bytes for activations, a plan that needs more is refused; 0: what the machine has */
} nbx_session_options;

typedef struct nbx_session_stats {
  size_t size;               /* sizeof(nbx_session_stats) */
  int64_t arena_bytes;       /* the largest plan so far */
  int64_t lower_bound_bytes; /* no plan can need less */
  int64_t packed_bytes;      /* weights in kernel layout */
  int64_t programs;          /* input shapes ready */
  int64_t runs;
} nbx_session_stats;

/* The text of this thread's last error: one line that names the thing, the values and the way out. Never NULL; valid
 * until this thread's next call that fails. */
const char* nbx_last_error(void);
const char* nbx_library_version(void); /* "major.minor.patch" */

/* .onnx, or nbx .json with its .safetensors beside it. *out is set on success only. */
nbx_status nbx_model_load(const char* path, nbx_model** out);
void nbx_model_free(nbx_model* model); /* NULL is allowed; sessions made from it stay valid */
size_t nbx_model_input_count(const nbx_model* model);
size_t nbx_model_output_count(const nbx_model* model);
nbx_status nbx_model_input(const nbx_model* model, size_t index, nbx_value_info* out);
nbx_status nbx_model_output(const nbx_model* model, size_t index, nbx_value_info* out);

/* options may be NULL. */
nbx_status nbx_session_new(const nbx_model* model, const nbx_session_options* options, nbx_session** out);
void nbx_session_free(nbx_session* session); /* NULL is allowed; no run may be under way */

/* Inputs by name, in any order, each of the model's inputs once; they are not changed and need to live during the call
 * only. *result: NULL, or a result of this model to be reused, whose memory then takes the outputs where shapes agree;
 * it must not be in use by another thread. After an error *result is what it was, its contents undefined. */
nbx_status nbx_session_run(nbx_session* session, const nbx_tensor* inputs, size_t count, nbx_result** result);
/* Asks the run under way to stop at the next op; that run ends with NBX_ERROR_CANCELLED. From any thread. */
nbx_status nbx_session_cancel(nbx_session* session);
nbx_status nbx_session_get_stats(const nbx_session* session, nbx_session_stats* out);

size_t nbx_result_count(const nbx_result* result);
/* The output at this index, in the model's order; its pointers live until the result is freed or reused. */
nbx_status nbx_result_output(const nbx_result* result, size_t index, nbx_tensor* out);
void nbx_result_free(nbx_result* result); /* NULL is allowed */

/* Bytes of an element, 0 for an unknown dtype; "float32". */
size_t nbx_dtype_size(nbx_dtype dtype);
const char* nbx_dtype_name(nbx_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
