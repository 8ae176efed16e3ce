#include "base/cuda_utils.h"
#include "base/device_kernels.h"
#include "base/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

/* The value of an environment variable; 0 if it is not set. */
static int64_t read_number(const char *name) {
  const char *text = getenv(name);
  return text ? atoll(text) : 0;
}

/* The number of calls up to and including the call that fails; 0 or less: none fails. */
static std::atomic<int64_t> calls_to_failure(read_number("CVTMESH_FAIL_CUDA"));

void cvtm_cuda_fail_call(int64_t n) { calls_to_failure = n; }

int cvtm_cuda_call_fails(void) { return calls_to_failure > 0 && --calls_to_failure == 0; }

int64_t cvtm_cuda_most_blocks(void) {
  static const int64_t wish = read_number("CVTMESH_TEST_MAX_BLOCKS");
  return wish > 0 ? wish : INT64_C(1) << 20;
}

/* Copies the condition of the next round from device memory to the graph. */
static __global__ void set_condition(cudaGraphConditionalHandle handle, const int *flag) {
  cudaGraphSetConditional(handle, *flag != 0 ? 1u : 0u);
}

int cvtm_cuda_count_devices(const char **reason) {
  int count = 0;
  int driver = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  const char *text = "";
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    count = 0;
    /* Without a driver the runtime reports an insufficient driver version. */
    const int found = cudaDriverGetVersion(&driver) == cudaSuccess && driver != 0;
    text = found ? cudaGetErrorString(code) : "no NVIDIA driver was found";
  } else if (count == 0) {
    text = "no CUDA-capable device is detected";
  }
  if (reason) *reason = text;
  return count;
}

int64_t cvtm_cuda_memory_of_device(int index) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, index) == cudaSuccess)
    return (int64_t)properties.totalGlobalMem;
  (void)cudaGetLastError();
  return 0;
}

static cvtm_status cuda_activate(cvtm_device *device) {
  return CVTM_CUDA_CALL(device, cudaSetDevice(device->index));
}

static cvtm_status cuda_open(cvtm_device *device, int index) {
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  cudaStream_t stream = nullptr;
  CVTM_CUDA_TRY(device, cudaSetDevice(index));
  CVTM_CUDA_TRY(device, cudaGetDeviceProperties(&properties, index));
  /* Fails for a device that this build has no code for. */
  CVTM_CUDA_TRY(device, cudaFuncGetAttributes(&attributes, set_condition));
  CVTM_CUDA_TRY(device, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  device->stream = device->own_stream = stream;
  device->multiprocessors = properties.multiProcessorCount;
  device->memory = properties.totalGlobalMem;
  memcpy(&device->identity, properties.uuid.bytes + 8, sizeof device->identity);
  snprintf(device->description, sizeof device->description, "%s", properties.name);
  return CVTM_OK;
}

/* Each handle has its own pool: streams that share a pool wait for each other. */
static cvtm_status cuda_share(cvtm_device *device) {
  CVTM_CUDA_TRY(device, cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device->index;
  cudaMemPool_t pool = nullptr;
  CVTM_CUDA_TRY(device, cudaMemPoolCreate(&pool, &properties));
  device->pool = pool;
  uint64_t all = UINT64_MAX;
  CVTM_CUDA_TRY(device, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  return CVTM_OK;
}

/* A block of mapped memory. A handle prepared by cuda_share keeps its blocks, because allocating or
 * freeing host memory waits for all streams of the device. */
typedef struct mapped_block {
  struct mapped_block *next;
  size_t bytes;
  int lent;
  void *host, *mapped;
} mapped_block;

static void free_mapped_blocks(cvtm_device *device) {
  mapped_block *block = static_cast<mapped_block *>(device->mapped);
  while (block) {
    mapped_block *next = block->next;
    (void)cudaFreeHost(block->host);
    free(block);
    block = next;
  }
}

/* loop->state: the graph `condition; while (condition) { body; condition }`; NULL if the host
 * drives the loop. */
typedef struct loop_state {
  cudaGraph_t graph, body;
  cudaGraphNode_t first; /* the first condition */
  cudaGraphConditionalHandle handle;
  cudaGraphExec_t executable;
  int complete; /* `executable` was made from `graph` */
} loop_state;

static void free_loop_state(loop_state *state) {
  if (!state) return;
  if (state->executable) (void)cudaGraphExecDestroy(state->executable);
  if (state->graph) (void)cudaGraphDestroy(state->graph);
  free(state);
}

static void cuda_close(cvtm_device *device) {
  free_loop_state(static_cast<loop_state *>(device->kept_loop));
  if (device->pool) {
    (void)cudaStreamSynchronize(cvtm_cuda_stream(device)); /* waits for the last frees */
    (void)cudaMemPoolDestroy(static_cast<cudaMemPool_t>(device->pool));
    free_mapped_blocks(device);
  }
  if (device->side_stream) {
    (void)cudaStreamDestroy(static_cast<cudaStream_t>(device->side_stream));
  }
  if (device->own_stream) (void)cudaStreamDestroy(static_cast<cudaStream_t>(device->own_stream));
}

static cvtm_status cuda_allocate(cvtm_device *device, size_t bytes, void **memory) {
  void *block = nullptr;
  if (bytes == 0) bytes = 256; /* cudaMalloc of nothing gives NULL */
  const cudaError_t code =
      cvtm_cuda_call_fails() || bytes > device->memory ? cudaErrorMemoryAllocation
      : device->pool
          ? cudaMallocFromPoolAsync(&block, bytes, static_cast<cudaMemPool_t>(device->pool),
                                    cvtm_cuda_stream(device))
          : cudaMalloc(&block, bytes);
  if (code == cudaErrorMemoryAllocation) {
    size_t left = 0, all = 0;
    (void)cudaGetLastError();
    (void)cudaMemGetInfo(&left, &all);
    return cvtm_fail(&device->error, CVTM_ERROR_MEMORY,
                     "%s: out of memory: %zu bytes; %zu of %zu are free", device->name, bytes, left,
                     all);
  }
  CVTM_TRY(cvtm_cuda_check(device, code, "cudaMalloc"));
  *memory = block;
  return CVTM_OK;
}

static void cuda_release(cvtm_device *device, void *memory) {
  /* device->error does not change: it often holds the failure that this call cleans up after. */
  if (device->pool)
    (void)cudaFreeAsync(memory, cvtm_cuda_stream(device));
  else
    (void)cudaFree(memory);
  (void)cudaGetLastError();
}

static cudaError_t advise(char *memory, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation place) {
#if CUDART_VERSION >= 13000
  return cudaMemAdvise(memory, bytes, advice, place);
#else
  return cudaMemAdvise_v2(memory, bytes, advice, place);
#endif
}

/* Keeps `kept` bytes of unified memory on the device and the other bytes on the host, where kernels
 * read them over the bus: pages that move to and fro cost far more. Ranks own the sites in the
 * order of y, so the first rank keeps the first bytes, and the last rank the last bytes. */
static cvtm_status place_pages(cvtm_device *device, char *memory, size_t bytes, size_t kept) {
  const size_t page = size_t{2} << 20, others = bytes - kept;
  const cvtm_ranks *ranks = device->ranks;
  const size_t steps = ranks && ranks->size > 1 ? ranks->size - 1 : 1;
  const size_t first = ranks ? others / steps * ranks->rank / page * page : 0;
  const cudaMemLocation here = {cudaMemLocationTypeDevice, device->index};
  const cudaMemLocation host = {cudaMemLocationTypeHost, 0};
  CVTM_CUDA_TRY(device, advise(memory, bytes, cudaMemAdviseSetPreferredLocation, host));
  CVTM_CUDA_TRY(device, advise(memory + first, kept, cudaMemAdviseSetPreferredLocation, here));
  return CVTM_CUDA_CALL(device, advise(memory, bytes, cudaMemAdviseSetAccessedBy, here));
}

static cvtm_status cuda_allocate_large(cvtm_device *device, size_t bytes, void **memory) {
  static const int64_t wish = read_number("CVTMESH_TEST_FREE_MEMORY");
  size_t left = 0, all = 0;
  void *block = nullptr;
  int readable = 0; /* nonzero: kernels can read unified memory wherever its pages are */
  if (device->pool) return cuda_allocate(device, bytes, memory);
  CVTM_CUDA_TRY(device, cudaMemGetInfo(&left, &all));
  if (wish > 0) left = static_cast<size_t>(wish);
  CVTM_CUDA_TRY(
      device, cudaDeviceGetAttribute(&readable, cudaDevAttrConcurrentManagedAccess, device->index));
  if (bytes / 2 <= left / 3 || !readable) return cuda_allocate(device, bytes, memory);
  CVTM_CUDA_TRY(device, cudaMallocManaged(&block, bytes));
  const cvtm_status status = place_pages(device, static_cast<char *>(block), bytes, left / 3 * 2);
  if (status == CVTM_OK)
    *memory = block;
  else
    cuda_release(device, block);
  return status;
}

static cvtm_status cuda_synchronize(cvtm_device *device) {
  return CVTM_CUDA_CALL(device, cudaStreamSynchronize(cvtm_cuda_stream(device)));
}

static cvtm_status cuda_start_copy_in(cvtm_device *device, void *to, const void *from,
                                      size_t bytes) {
  return CVTM_CUDA_CALL(
      device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cvtm_cuda_stream(device)));
}

static cvtm_status cuda_copy_in(cvtm_device *device, void *to, const void *from, size_t bytes) {
  CVTM_TRY(cuda_start_copy_in(device, to, from, bytes));
  return cuda_synchronize(device);
}

static cvtm_status cuda_copy_out(cvtm_device *device, void *to, const void *from, size_t bytes) {
  CVTM_CUDA_TRY(device,
                cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cvtm_cuda_stream(device)));
  return cuda_synchronize(device);
}

static cvtm_status cuda_copy(cvtm_device *device, void *to, const void *from, size_t bytes) {
  CVTM_CUDA_TRY(
      device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cvtm_cuda_stream(device)));
  return CVTM_OK;
}

static cvtm_status cuda_fill(cvtm_device *device, void *memory, int byte, size_t bytes) {
  CVTM_CUDA_TRY(device, cudaMemsetAsync(memory, byte, bytes, cvtm_cuda_stream(device)));
  return CVTM_OK;
}

static cvtm_status cuda_query(cvtm_device *device, int *idle) {
  const cudaError_t code = cudaStreamQuery(cvtm_cuda_stream(device));
  *idle = code != cudaErrorNotReady;
  if (!*idle) (void)cudaGetLastError();
  return *idle ? cvtm_cuda_check(device, code, "cudaStreamQuery") : CVTM_OK;
}

static cvtm_status allocate_mapped(cvtm_device *device, size_t bytes, void **host, void **mapped) {
  void *block = nullptr;
  CVTM_CUDA_TRY(device, cudaHostAlloc(&block, bytes, cudaHostAllocMapped));
  const cvtm_status status = CVTM_CUDA_CALL(device, cudaHostGetDevicePointer(mapped, block, 0));
  if (status != CVTM_OK) {
    (void)cudaFreeHost(block);
    return status;
  }
  *host = block;
  return CVTM_OK;
}

/* For a handle prepared by cuda_share: lends a kept block that is large enough, or a new block. */
static cvtm_status lend_mapped(cvtm_device *device, size_t bytes, void **host, void **mapped) {
  mapped_block *block = static_cast<mapped_block *>(device->mapped);
  while (block && (block->lent || block->bytes < bytes)) block = block->next;
  if (!block) {
    block = static_cast<mapped_block *>(calloc(1, sizeof *block));
    if (!block) return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory");
    const cvtm_status status = allocate_mapped(device, bytes, &block->host, &block->mapped);
    if (status != CVTM_OK) {
      free(block);
      return status;
    }
    block->bytes = bytes;
    block->next = static_cast<mapped_block *>(device->mapped);
    device->mapped = block;
  }
  block->lent = 1;
  *host = block->host;
  *mapped = block->mapped;
  return CVTM_OK;
}

static cvtm_status cuda_allocate_mapped(cvtm_device *device, size_t bytes, void **host,
                                        void **mapped) {
  if (bytes == 0) bytes = 256;
  const cvtm_status status =
      (device->pool ? lend_mapped : allocate_mapped)(device, bytes, host, mapped);
  if (status == CVTM_OK) memset(*host, 0, bytes);
  return status;
}

static void cuda_release_mapped(cvtm_device *device, void *host) {
  mapped_block *block = static_cast<mapped_block *>(device->mapped);
  while (block && block->host != host) block = block->next;
  if (block)
    block->lent = 0;
  else
    (void)cudaFreeHost(host);
  (void)cudaGetLastError();
}

static cvtm_status cuda_post(cvtm_device *device, void *to, const void *from, size_t bytes) {
  cudaStream_t stream = static_cast<cudaStream_t>(device->side_stream);
  if (!stream) {
    CVTM_CUDA_TRY(device, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    device->side_stream = stream;
  }
  CVTM_CUDA_TRY(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  return CVTM_CUDA_CALL(device, cudaStreamSynchronize(stream));
}

/* True with CVTMESH_HOST_LOOPS=1: then the host reads the flag and enqueues round by round, for
 * tools that do not support conditional nodes (compute-sanitizer). */
static int host_drives_loops(void) {
  const char *wish = getenv("CVTMESH_HOST_LOOPS");
  return wish != nullptr && strcmp(wish, "1") == 0;
}

/* True if the body did what a capture forbids: it synchronised, allocated or used another
 * stream. */
static int breaks_capture(cudaError_t code) {
  return code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
}

/* Captures the body on trial, into a graph of its own, because an invalidated capture destroys the
 * graph that it writes to. */
static cvtm_status cuda_loop_try(cvtm_device *device, cvtm_loop_body body, void *context) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  cudaGraph_t captured = nullptr;
  if (host_drives_loops())
    return cvtm_fail(&device->error, CVTM_ERROR_UNSUPPORTED, "the host drives the loops");
  CVTM_CUDA_TRY(device, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  device->loop_condition = 0;
  device->loop_open = 1;
  const cvtm_status status = body(context);
  device->loop_open = 0;
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  if (captured) (void)cudaGraphDestroy(captured);
  if (status != CVTM_OK || ended != cudaSuccess) (void)cudaGetLastError();
  if (breaks_capture(ended))
    return cvtm_fail(&device->error, CVTM_ERROR_UNSUPPORTED, "the loop's body: %s",
                     cudaGetErrorString(ended));
  if (status != CVTM_OK) return status;
  return cvtm_cuda_check(device, ended, "capture of the loop's body");
}

/* Captures the body, then set_condition unless the body has claimed the condition, into the graph
 * of the conditional node. Ends the capture on failure, too. */
static cvtm_status capture_body(cvtm_loop *loop, const loop_state *state) {
  cvtm_device *device = loop->device;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  CVTM_CUDA_TRY(device, cudaStreamBeginCaptureToGraph(stream, state->body, nullptr, nullptr, 0,
                                                      cudaStreamCaptureModeThreadLocal));
  device->loop_condition = state->handle;
  device->loop_open = 1;
  cvtm_status status = loop->body(loop->context);
  const int unclaimed = device->loop_open;
  device->loop_open = 0;
  if (status == CVTM_OK && unclaimed) {
    set_condition<<<1, 1, 0, stream>>>(state->handle, loop->flag);
    status = cvtm_cuda_launched(device, "set_condition");
  }
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  if (status != CVTM_OK) {
    (void)cudaGetLastError();
    return status; /* the reason is the body's failure, not the broken capture */
  }
  return cvtm_cuda_check(device, ended, "capture of the loop's body");
}

static cudaError_t add_conditional_node(cudaGraphNode_t *node, cudaGraph_t graph,
                                        const cudaGraphNode_t *after,
                                        cudaGraphNodeParams *parameters) {
#if CUDART_VERSION >= 13000
  return cudaGraphAddNode(node, graph, after, nullptr, 1, parameters);
#else
  return cudaGraphAddNode(node, graph, after, 1, parameters);
#endif
}

static cudaKernelNodeParams first_condition(void **arguments) {
  cudaKernelNodeParams first = {};
  first.func = reinterpret_cast<void *>(set_condition);
  first.gridDim = dim3(1);
  first.blockDim = dim3(1);
  first.kernelParams = arguments;
  return first;
}

/* Makes the graph with an empty body. */
static cvtm_status make_loop_graph(const cvtm_loop *loop, loop_state *state) {
  cvtm_device *device = loop->device;
  const int *flag = loop->flag;
  void *arguments[] = {&state->handle, &flag};
  CVTM_CUDA_TRY(device, cudaGraphCreate(&state->graph, 0));
  CVTM_CUDA_TRY(device, cudaGraphConditionalHandleCreate(&state->handle, state->graph, 0, 0));
  const cudaKernelNodeParams first = first_condition(arguments);
  CVTM_CUDA_TRY(device, cudaGraphAddKernelNode(&state->first, state->graph, nullptr, 0, &first));

  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = state->handle;
  parameters.conditional.type = cudaGraphCondTypeWhile;
  parameters.conditional.size = 1;
  cudaGraphNode_t node;
  CVTM_CUDA_TRY(device, add_conditional_node(&node, state->graph, &state->first, &parameters));
  state->body = parameters.conditional.phGraph_out[0];
  return CVTM_OK;
}

/* Reuses the graph of another loop: empties its body and makes it read this loop's flag. */
static cvtm_status clear_loop_graph(const cvtm_loop *loop, const loop_state *state) {
  enum { MOST_NODES = 256 };
  cvtm_device *device = loop->device;
  const int *flag = loop->flag;
  cudaGraphConditionalHandle handle = state->handle;
  void *arguments[] = {&handle, &flag};
  const cudaKernelNodeParams first = first_condition(arguments);
  CVTM_CUDA_TRY(device, cudaGraphKernelNodeSetParams(state->first, &first));
  cudaGraphNode_t nodes[MOST_NODES];
  size_t count = MOST_NODES;
  do {
    count = MOST_NODES;
    CVTM_CUDA_TRY(device, cudaGraphGetNodes(state->body, nodes, &count));
    for (size_t k = 0; k < count; ++k) CVTM_CUDA_TRY(device, cudaGraphDestroyNode(nodes[k]));
  } while (count == MOST_NODES);
  return CVTM_OK;
}

/* Updates the executable graph if it has the same nodes as `graph`; otherwise makes a new one. The
 * update takes 10 us; making and destroying an executable graph takes 3 ms while other streams of
 * the device work (a batch of 8 runs). */
static cvtm_status make_executable(cvtm_device *device, loop_state *state) {
  if (state->executable) {
    cudaGraphExecUpdateResultInfo info;
    if (cudaGraphExecUpdate(state->executable, state->graph, &info) == cudaSuccess) return CVTM_OK;
    (void)cudaGetLastError();
    (void)cudaGraphExecDestroy(state->executable);
    state->executable = nullptr;
  }
  return CVTM_CUDA_CALL(device, cudaGraphInstantiate(&state->executable, state->graph, 0));
}

static cvtm_status cuda_loop_prepare(cvtm_loop *loop) {
  cvtm_device *device = loop->device;
  if (host_drives_loops()) return CVTM_OK;
  loop_state *state = static_cast<loop_state *>(device->kept_loop);
  device->kept_loop = nullptr;
  if (!state) state = static_cast<loop_state *>(calloc(1, sizeof(loop_state)));
  if (!state) return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory");
  loop->state = state; /* loop_release frees it on failure, too */
  state->complete = 0;
  cvtm_status status = state->graph ? clear_loop_graph(loop, state) : make_loop_graph(loop, state);
  if (status == CVTM_OK) status = capture_body(loop, state);
  if (status == CVTM_OK) status = make_executable(device, state);
  state->complete = status == CVTM_OK;
  return status;
}

static cvtm_status run_from_host(cvtm_loop *loop) {
  int flag = 0;
  cvtm_status status = cuda_copy_out(loop->device, &flag, loop->flag, sizeof flag);
  while (status == CVTM_OK && flag != 0) {
    status = loop->body(loop->context);
    if (status == CVTM_OK) status = cuda_copy_out(loop->device, &flag, loop->flag, sizeof flag);
  }
  return status;
}

static cvtm_status cuda_loop_run(cvtm_loop *loop) {
  const loop_state *state = static_cast<const loop_state *>(loop->state);
  if (!state) return run_from_host(loop);
  return CVTM_CUDA_CALL(loop->device,
                        cudaGraphLaunch(state->executable, cvtm_cuda_stream(loop->device)));
}

static void cuda_loop_release(cvtm_loop *loop) {
  cvtm_device *device = loop->device;
  loop_state *state = static_cast<loop_state *>(loop->state);
  if (!state) return;
  /* A graph that still runs must not lose its nodes. */
  if (state->executable) (void)cudaStreamSynchronize(cvtm_cuda_stream(device));
  if (state->complete && !device->kept_loop)
    device->kept_loop = state;
  else
    free_loop_state(state);
  (void)cudaGetLastError();
}

const cvtm_device_table cvtm_device_table_cuda = {
    cuda_open,           cuda_close,   cuda_share,       cuda_activate,      cuda_allocate,
    cuda_allocate_large, cuda_release, cuda_copy_in,     cuda_start_copy_in, cuda_copy_out,
    cuda_copy,           cuda_fill,    cuda_synchronize, cuda_query,         cuda_allocate_mapped,
    cuda_release_mapped, cuda_post,    cuda_loop_try,    cuda_loop_prepare,  cuda_loop_run,
    cuda_loop_release,
};
