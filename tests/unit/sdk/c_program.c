#include "c_program.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchid/orchid.h"

#if __STDC_VERSION__ != 201112L
#error "the C API is for C11"
#endif

#define EXPECT(condition) \
  if (!(condition)) return __LINE__

static int call_directly(orchid_lease* lease) {
  orchid_function* function = NULL;
  EXPECT(orchid_lease_function(lease, "f", &function) == ORCHID_STATUS_OK);
  char room[16];
  size_t size = 0;
  EXPECT(orchid_call_into(function, "hello", 5, room, sizeof room, &size, NULL) ==
         ORCHID_STATUS_OK);
  EXPECT(size == 5 && memcmp(room, "hello", 5) == 0);
  EXPECT(orchid_call_into(function, "hello", 5, room, 2, &size, NULL) == ORCHID_STATUS_TOO_LARGE);
  EXPECT(strstr(orchid_last_error(), "5 bytes") != NULL);

  orchid_bytes output = {NULL, 0};
  const orchid_call_options options = {.deadline_ns = 1000000000u, .at_most_once = 1};
  EXPECT(orchid_call_bytes(function, "abc", 3, &options, &output) == ORCHID_STATUS_OK);
  EXPECT(output.size == 3 && memcmp(output.data, "abc", 3) == 0);
  orchid_bytes_free(&output);
  EXPECT(output.data == NULL);

  orchid_buffer* buffer = NULL;
  EXPECT(orchid_buffer_make(lease, 4, &buffer) == ORCHID_STATUS_OK);
  memcpy(orchid_buffer_data(buffer), "lane", 4);
  EXPECT(orchid_call_buffer(function, buffer, room, sizeof room, &size, NULL) == ORCHID_STATUS_OK);
  EXPECT(size == 4 && memcmp(room, "lane", 4) == 0);

  orchid_future* future = NULL;
  EXPECT(orchid_call_start(function, "later", 5, NULL, &future) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_wait(future, 10000000000u) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_get(future, &output) == ORCHID_STATUS_OK);
  EXPECT(output.size == 5 && memcmp(output.data, "later", 5) == 0);
  orchid_bytes_free(&output);
  EXPECT(orchid_future_get(future, &output) == ORCHID_STATUS_BAD_REQUEST);
  orchid_future_cancel(future);
  orchid_future_free(future);
  orchid_function_free(function);
  return 0;
}

/* Every input of its own size: what was swapped is seen. */
static int map_directly(orchid_lease* lease, orchid_function* function) {
  enum { COUNT = 300 };
  static char text[COUNT];
  static orchid_input inputs[COUNT];
  static orchid_bytes outputs[COUNT];
  memset(text, 'm', sizeof text);
  for (size_t i = 0; i < COUNT; ++i) inputs[i] = (orchid_input){text, i};
  const orchid_call_options once = {.at_most_once = 1};
  for (int round = 0; round < 2; ++round) {
    EXPECT(orchid_lease_map(lease, function, inputs, COUNT, round == 0 ? NULL : &once, outputs) ==
           ORCHID_STATUS_OK);
    for (size_t i = 0; i < COUNT; ++i) {
      EXPECT(outputs[i].size == i && memcmp(outputs[i].data, text, i) == 0);
      orchid_bytes_free(&outputs[i]);
    }
  }
  EXPECT(orchid_lease_map(lease, function, NULL, 0, NULL, NULL) == ORCHID_STATUS_OK);
  return 0;
}

struct answer {
  atomic_int calls;
  orchid_status status;
  orchid_bytes output;
};

static void take_answer(orchid_future* done, void* context) {
  struct answer* const answer = context;
  answer->status = orchid_future_get(done, &answer->output);
  atomic_fetch_add(&answer->calls, 1);
}

/* Whether `answer` has been told so often, within 10 s. */
static int was_told(struct answer* answer, int times) {
  const time_t give_up = time(NULL) + 10;
  while (atomic_load(&answer->calls) < times)
    if (time(NULL) > give_up) return 0;
  return 1;
}

static int call_back(orchid_function* function) {
  struct answer answer = {0};
  orchid_future* future = NULL;
  EXPECT(orchid_call_start(function, "then", 4, NULL, &future) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_then(future, take_answer, &answer) == ORCHID_STATUS_OK);
  orchid_future_free(future);
  EXPECT(was_told(&answer, 1) && answer.status == ORCHID_STATUS_OK);
  EXPECT(answer.output.size == 4 && memcmp(answer.output.data, "then", 4) == 0);
  orchid_bytes_free(&answer.output);

  EXPECT(orchid_call_start(function, "done", 4, NULL, &future) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_wait(future, 10000000000u) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_then(future, take_answer, &answer) == ORCHID_STATUS_OK);
  EXPECT(was_told(&answer, 2) && answer.status == ORCHID_STATUS_OK);
  orchid_bytes_free(&answer.output);
  EXPECT(orchid_future_then(future, take_answer, &answer) == ORCHID_STATUS_OK);
  EXPECT(was_told(&answer, 3) && answer.status == ORCHID_STATUS_BAD_REQUEST);
  orchid_future_free(future);
  return 0;
}

static int name_failures(orchid_client* client, orchid_function* function) {
  char room[2];
  size_t size = 0;
  EXPECT(orchid_call_into(function, "hello", 5, room, sizeof room, &size, NULL) ==
         ORCHID_STATUS_TOO_LARGE);
  const orchid_failure* failure = orchid_last_failure();
  EXPECT(failure->status == ORCHID_STATUS_TOO_LARGE);
  EXPECT(strcmp(failure->node, "n1") == 0 && strcmp(failure->function, "f.e") == 0);
  EXPECT(failure->attempt == 1 && failure->retryable == 0 && failure->http_status == 0);
  EXPECT(strstr(failure->message, "5 bytes") != NULL && strcmp(failure->hint, "") != 0);
  EXPECT(strcmp(failure->invocation, "") == 0 && strcmp(failure->log, "") == 0);
  orchid_lease* lease = NULL;
  const orchid_lease_options options = {.lane = "pigeon"};
  EXPECT(orchid_lease_take(client, &options, &lease) == ORCHID_STATUS_BAD_REQUEST);
  failure = orchid_last_failure();
  EXPECT(failure->status == ORCHID_STATUS_BAD_REQUEST &&
         strstr(failure->message, "pigeon") != NULL);
  EXPECT(failure->attempt == 0 && strcmp(failure->node, "") == 0 &&
         strcmp(failure->outcome, "") == 0);
  return 0;
}

/* Of a worker that does not answer: what still runs ends. */
int release_c_lease(const char* gateway, void (*stop_answering)(void*), void* context) {
  orchid_client* client = NULL;
  EXPECT(orchid_client_open(gateway, &client) == ORCHID_STATUS_OK);
  const orchid_lease_options options = {.lane = "local"};
  orchid_lease* lease = NULL;
  EXPECT(orchid_lease_take(client, &options, &lease) == ORCHID_STATUS_OK);
  EXPECT(strcmp(orchid_lease_id(lease), "l-1-1") == 0);
  orchid_function* function = NULL;
  EXPECT(orchid_lease_function(lease, "f", &function) == ORCHID_STATUS_OK);
  stop_answering(context);

  const orchid_call_options short_time = {.deadline_ns = 50000000u};
  const orchid_input input = {"x", 1};
  orchid_bytes output = {(void*)"nothing", 7};
  EXPECT(orchid_lease_map(lease, function, &input, 1, &short_time, &output) ==
         ORCHID_STATUS_DEADLINE_EXCEEDED);
  EXPECT(output.data == NULL && output.size == 0);
  const orchid_failure* failure = orchid_last_failure();
  EXPECT(strcmp(failure->outcome, "deadline_exceeded") == 0 && strcmp(failure->node, "n1") == 0);
  EXPECT(failure->retryable == 0);

  struct answer answer = {0};
  orchid_future* future = NULL;
  EXPECT(orchid_call_start(function, "x", 1, NULL, &future) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_then(future, take_answer, &answer) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_wait(future, 0) == ORCHID_STATUS_TIMED_OUT);
  EXPECT(orchid_last_failure()->status == ORCHID_STATUS_TIMED_OUT);
  EXPECT(orchid_lease_release(lease) == ORCHID_STATUS_OK);
  EXPECT(orchid_lease_release(lease) == ORCHID_STATUS_OK);
  EXPECT(was_told(&answer, 1) && answer.status == ORCHID_STATUS_LEASE_ENDED);
  EXPECT(orchid_lease_map(lease, function, &input, 1, NULL, &output) == ORCHID_STATUS_LEASE_ENDED);
  EXPECT(orchid_lease_workers(lease) == 0);
  EXPECT(orchid_future_then(future, take_answer, &answer) == ORCHID_STATUS_OK);
  EXPECT(was_told(&answer, 2) && answer.status == ORCHID_STATUS_BAD_REQUEST);
  orchid_future_free(future);
  orchid_function_free(function);
  orchid_lease_free(lease);
  EXPECT(orchid_release_lease(client, "l-7-7") == ORCHID_STATUS_OK);
  orchid_client_free(client);
  return 0;
}

/* The worker behind it returns after the first chunk. */
static int stream_directly(orchid_lease* lease) {
  orchid_function* function = NULL;
  EXPECT(orchid_lease_function(lease, "f", &function) == ORCHID_STATUS_OK);
  orchid_stream* stream = NULL;
  EXPECT(orchid_stream_open(function, NULL, &stream) == ORCHID_STATUS_OK);
  const void* chunk = NULL;
  size_t size = 1;
  EXPECT(orchid_stream_try_read(stream, &chunk, &size) == ORCHID_STATUS_OK);
  EXPECT(chunk == NULL && size == 0 && orchid_stream_ended(stream) == 0);
  int sent = 0;
  EXPECT(orchid_stream_try_write(stream, "chunk", 5, &sent) == ORCHID_STATUS_OK && sent == 1);
  EXPECT(orchid_stream_read(stream, &chunk, &size) == ORCHID_STATUS_OK);
  EXPECT(size == 5 && memcmp(chunk, "chunk", 5) == 0);
  EXPECT(orchid_stream_read(stream, &chunk, &size) == ORCHID_STATUS_OK && chunk == NULL);
  EXPECT(orchid_stream_ended(stream) == 1);
  EXPECT(orchid_stream_write(stream, "late", 4, &sent) == ORCHID_STATUS_OK && sent == 0);
  EXPECT(orchid_stream_finish(stream) == ORCHID_STATUS_OK);
  orchid_stream_cancel(stream);
  orchid_stream_free(stream);
  EXPECT(orchid_stream_open(function, NULL, &stream) == ORCHID_STATUS_OK);
  orchid_stream_cancel(stream);
  EXPECT(orchid_stream_write(stream, "x", 1, NULL) == ORCHID_STATUS_CANCELLED);
  EXPECT(strstr(orchid_last_error(), "cancelled") != NULL);
  orchid_stream_free(stream);
  orchid_function_free(function);
  return 0;
}

int constrain_c_lease(const char* gateway) {
  orchid_client* client = NULL;
  EXPECT(orchid_client_open(gateway, &client) == ORCHID_STATUS_OK);
  const char* const avoided[] = {"n2", "n3"};
  const char* const features[] = {"ib", "ssd"};
  const orchid_worker_size sizes[] = {{.cores = 1, .gpus = 1, .gpu_model = "a100"}, {.cores = 4}};
  const orchid_lease_options options = {.workers = 2,
                                        .at_least = 1,
                                        .host = "n1",
                                        .avoid_host = avoided,
                                        .avoid_host_count = 2,
                                        .architecture = "x86_64",
                                        .kind = "cpu",
                                        .features = features,
                                        .feature_count = 2,
                                        .lifetime_ms = 5000,
                                        .watts_at_most = 300,
                                        .alternatives = sizes,
                                        .alternative_count = 2,
                                        .separate_processes = 1,
                                        .cluster = "moss"};
  orchid_lease* lease = NULL;
  EXPECT(orchid_lease_take(client, &options, &lease) == ORCHID_STATUS_OK);
  orchid_lease_free(lease);
  orchid_client_free(client);
  return 0;
}

int run_c_program(const char* gateway) {
  orchid_client* client = NULL;
  EXPECT(orchid_last_failure()->status == ORCHID_STATUS_OK);
  EXPECT(strcmp(orchid_last_failure()->message, "") == 0);
  EXPECT(orchid_client_open("nonsense", &client) == ORCHID_STATUS_BAD_CONFIGURATION);
  EXPECT(strstr(orchid_last_error(), "nonsense") != NULL);
  EXPECT(orchid_client_open(gateway, &client) == ORCHID_STATUS_OK);
  EXPECT(strcmp(orchid_status_name(ORCHID_STATUS_LEASE_ENDED), "lease_ended") == 0);
  const orchid_lease_options options = {.workers = 1, .wait = ORCHID_WAIT_BLOCKING};
  orchid_lease* lease = NULL;
  EXPECT(orchid_lease_take(client, &options, &lease) == ORCHID_STATUS_OK);
  EXPECT(orchid_lease_workers(lease) == 1);
  int failed = call_directly(lease);
  if (failed == 0) failed = stream_directly(lease);
  orchid_function* late = NULL;
  EXPECT(orchid_lease_function(lease, "f", &late) == ORCHID_STATUS_OK);
  if (failed == 0) failed = map_directly(lease, late);
  if (failed == 0) failed = call_back(late);
  if (failed == 0) failed = name_failures(client, late);
  orchid_lease_free(lease);
  size_t size = 0;
  EXPECT(orchid_call_into(late, "x", 1, NULL, 0, &size, NULL) == ORCHID_STATUS_LEASE_ENDED);
  orchid_function_free(late);
  orchid_client_free(client);
  orchid_client_free(NULL);
  return failed;
}
