//go:build ort_capi

#include "capi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// The API is a table of functions. New versions append to it and never reorder it, so an index holds for all of them.
enum {
  GET_ERROR_MESSAGE = 2,
  CREATE_ENV = 3,
  CREATE_SESSION = 7,
  CREATE_SESSION_FROM_ARRAY = 8,
  RUN = 9,
  CREATE_SESSION_OPTIONS = 10,
  ENABLE_PROFILING = 14,
  SET_SESSION_LOG_SEVERITY_LEVEL = 22,
  SET_INTRA_OP_NUM_THREADS = 24,
  SET_INTER_OP_NUM_THREADS = 25,
  CREATE_RUN_OPTIONS = 39,
  RUN_OPTIONS_SET_TERMINATE = 46,
  CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE = 49,
  GET_TENSOR_MUTABLE_DATA = 51,
  GET_TENSOR_ELEMENT_TYPE = 60,
  GET_DIMENSIONS_COUNT = 61,
  GET_DIMENSIONS = 62,
  GET_TENSOR_SHAPE_ELEMENT_COUNT = 64,
  GET_TENSOR_TYPE_AND_SHAPE = 65,
  CREATE_CPU_MEMORY_INFO = 69,
  RELEASE_STATUS = 93,
  RELEASE_SESSION = 95,
  RELEASE_VALUE = 96,
  RELEASE_RUN_OPTIONS = 97,
  RELEASE_TENSOR_TYPE_AND_SHAPE_INFO = 99,
  RELEASE_SESSION_OPTIONS = 100,
  SESSION_OPTIONS_APPEND_EXECUTION_PROVIDER_CUDA_V2 = 204,
  CREATE_CUDA_PROVIDER_OPTIONS = 205,
  UPDATE_CUDA_PROVIDER_OPTIONS = 206,
  RELEASE_CUDA_PROVIDER_OPTIONS = 208,
};

// The version that onnxruntime_go v1.27 asks for as well: that of ONNX Runtime 1.24.
#define API_VERSION 24

typedef struct {
  const void *(*get_api)(uint32_t version);
  const char *(*get_version)(void);
} api_base;

typedef void *status;

static const api_base *base;
static void *const *api;
static void *env, *cpu_memory;

static char *message_of(status s) {
  if (!s) return NULL;
  char *message = strdup(((const char *(*)(status))api[GET_ERROR_MESSAGE])(s));
  ((void (*)(status))api[RELEASE_STATUS])(s);
  return message;
}

// CALL(index, (types), arguments…) calls a function that returns a status.
#define CALL(index, types, ...) message_of(((status(*) types)api[index])(__VA_ARGS__))

static void release(int index, void *p) {
  if (p) ((void (*)(void *))api[index])(p);
}

char *ort_load(const char *path, int severity) {
  void *library = dlopen(path, RTLD_LAZY);
  if (!library) return strdup(dlerror());
  const api_base *(*get_base)(void) = (const api_base *(*)(void))dlsym(library, "OrtGetApiBase");
  if (!get_base) return strdup("the file has no function OrtGetApiBase");
  base = get_base();
  api = base->get_api(API_VERSION);
  if (!api) return strdup("the library does not know version 24 of the C API");
  char *message = CALL(CREATE_ENV, (int, const char *, void **), severity, "erreval", &env);
  return message ? message : CALL(CREATE_CPU_MEMORY_INFO, (int, int, void **), 0, 0, &cpu_memory);
}

const char *ort_version(void) { return base->get_version(); }

char *ort_new_session_options(void **out) { return CALL(CREATE_SESSION_OPTIONS, (void **), out); }
char *ort_set_intra_op_threads(void *o, int n) { return CALL(SET_INTRA_OP_NUM_THREADS, (void *, int), o, n); }
char *ort_set_inter_op_threads(void *o, int n) { return CALL(SET_INTER_OP_NUM_THREADS, (void *, int), o, n); }
char *ort_set_log_severity(void *o, int n) { return CALL(SET_SESSION_LOG_SEVERITY_LEVEL, (void *, int), o, n); }
char *ort_enable_profiling(void *o, const char *p) { return CALL(ENABLE_PROFILING, (void *, const char *), o, p); }
char *ort_append_cuda(void *o, void *cuda) {
  return CALL(SESSION_OPTIONS_APPEND_EXECUTION_PROVIDER_CUDA_V2, (void *, void *), o, cuda);
}
void ort_release_session_options(void *o) { release(RELEASE_SESSION_OPTIONS, o); }

char *ort_new_cuda_options(void **out) { return CALL(CREATE_CUDA_PROVIDER_OPTIONS, (void **), out); }
char *ort_update_cuda_options(void *o, char **keys, char **values, size_t n) {
  return CALL(UPDATE_CUDA_PROVIDER_OPTIONS, (void *, char **, char **, size_t), o, keys, values, n);
}
void ort_release_cuda_options(void *o) { release(RELEASE_CUDA_PROVIDER_OPTIONS, o); }

char *ort_new_run_options(void **out) { return CALL(CREATE_RUN_OPTIONS, (void **), out); }
char *ort_terminate(void *o) { return CALL(RUN_OPTIONS_SET_TERMINATE, (void *), o); }
void ort_release_run_options(void *o) { release(RELEASE_RUN_OPTIONS, o); }

char *ort_open_file(const char *path, void *options, void **out) {
  return CALL(CREATE_SESSION, (void *, const char *, void *, void **), env, path, options, out);
}
char *ort_open_bytes(const void *data, size_t n, void *options, void **out) {
  return CALL(CREATE_SESSION_FROM_ARRAY, (void *, const void *, size_t, void *, void **), env, data, n, options, out);
}
char *ort_run(void *session, void *options, char **in_names, void **in, size_t n_in, char **out_names, size_t n_out,
              void **out) {
  return CALL(RUN, (void *, void *, char **, void **, size_t, char **, size_t, void **), session, options, in_names, in,
              n_in, out_names, n_out, out);
}
void ort_release_session(void *session) { release(RELEASE_SESSION, session); }

char *ort_new_tensor(void *data, size_t bytes, const int64_t *shape, size_t rank, int type, void **out) {
  return CALL(CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE, (void *, void *, size_t, const int64_t *, size_t, int, void **),
              cpu_memory, data, bytes, shape, rank, type, out);
}

static char *read_info(void *info, ort_contents *out) {
  char *message = CALL(GET_TENSOR_ELEMENT_TYPE, (void *, int *), info, &out->type);
  if (!message) message = CALL(GET_DIMENSIONS_COUNT, (void *, size_t *), info, &out->rank);
  if (!message && out->rank > ORT_MAX_RANK) message = strdup("the tensor has more than 8 dimensions");
  if (!message) message = CALL(GET_DIMENSIONS, (void *, int64_t *, size_t), info, out->shape, out->rank);
  if (!message) message = CALL(GET_TENSOR_SHAPE_ELEMENT_COUNT, (void *, size_t *), info, &out->count);
  return message;
}

char *ort_read_tensor(void *value, ort_contents *out) {
  void *info = NULL;
  char *message = CALL(GET_TENSOR_TYPE_AND_SHAPE, (void *, void **), value, &info);
  if (!message) message = read_info(info, out);
  release(RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, info);
  return message ? message : CALL(GET_TENSOR_MUTABLE_DATA, (void *, void **), value, &out->data);
}

void ort_release_tensor(void *value) { release(RELEASE_VALUE, value); }
