// The few calls of ONNX Runtime's C API that package ort makes. Each returns NULL, or a message that the caller frees.
#include <stddef.h>
#include <stdint.h>

char *ort_load(const char *path, int severity);
const char *ort_version(void);

char *ort_new_session_options(void **out);
char *ort_set_intra_op_threads(void *options, int n);
char *ort_set_inter_op_threads(void *options, int n);
char *ort_set_log_severity(void *options, int severity);
char *ort_enable_profiling(void *options, const char *prefix);
char *ort_append_cuda(void *options, void *cuda);
void ort_release_session_options(void *options);

char *ort_new_cuda_options(void **out);
char *ort_update_cuda_options(void *cuda, char **keys, char **values, size_t n);
void ort_release_cuda_options(void *cuda);

char *ort_new_run_options(void **out);
char *ort_terminate(void *options);
void ort_release_run_options(void *options);

char *ort_open_file(const char *path, void *options, void **out);
char *ort_open_bytes(const void *data, size_t n, void *options, void **out);
char *ort_run(void *session, void *options, char **in_names, void **in, size_t n_in, char **out_names, size_t n_out,
              void **out);
void ort_release_session(void *session);

#define ORT_MAX_RANK 8

// What a tensor holds: type is its ONNXTensorElementDataType.
typedef struct {
  int type;
  size_t rank, count;
  int64_t shape[ORT_MAX_RANK];
  void *data;
} ort_contents;

char *ort_new_tensor(void *data, size_t bytes, const int64_t *shape, size_t rank, int type, void **out);
char *ort_read_tensor(void *value, ort_contents *out);
void ort_release_tensor(void *value);
