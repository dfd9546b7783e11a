/* from_c MODULE LANE: deploys the module, letters.c, asks for what is not there, and calls what is,
 * through the gateway and over LANE. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "orchid/orchid.h"

#define EXPECT(condition)                                                                  \
  if (!(condition)) {                                                                      \
    fprintf(stderr, "line %d: not so; last failure: %s\n", __LINE__, orchid_last_error()); \
    return 1;                                                                              \
  }

static int ask_for_what_is_not_there(orchid_client* client) {
  orchid_bytes output = {NULL, 0};
  EXPECT(orchid_invoke(client, "missing", "", 0, 0, &output) == ORCHID_STATUS_NOT_FOUND);
  const orchid_failure* failure = orchid_last_failure();
  EXPECT(failure->status == ORCHID_STATUS_NOT_FOUND && failure->http_status == 404);
  EXPECT(failure->retryable == 0 && strcmp(failure->node, "") == 0);
  EXPECT(orchid_release_lease(client, "l-1-999999") == ORCHID_STATUS_NOT_FOUND);
  return 0;
}

static int map(orchid_lease* lease, orchid_function* function) {
  const orchid_input inputs[] = {{"one", 3}, {"two", 3}, {"three", 5}, {"", 0}};
  orchid_bytes outputs[4];
  const orchid_call_options once = {.at_most_once = 1};
  for (int round = 0; round < 2; ++round) {
    EXPECT(orchid_lease_map(lease, function, inputs, 3, round == 0 ? NULL : &once, outputs) ==
           ORCHID_STATUS_OK);
    EXPECT(outputs[0].size == 3 && memcmp(outputs[0].data, "ONE", 3) == 0);
    EXPECT(outputs[1].size == 3 && memcmp(outputs[1].data, "TWO", 3) == 0);
    EXPECT(outputs[2].size == 5 && memcmp(outputs[2].data, "THREE", 5) == 0);
    for (int i = 0; i < 3; ++i) orchid_bytes_free(&outputs[i]);
  }
  EXPECT(orchid_lease_map(lease, function, inputs, 4, NULL, outputs) ==
         ORCHID_STATUS_FUNCTION_ERROR);
  for (int i = 0; i < 4; ++i) EXPECT(outputs[i].data == NULL);
  const orchid_failure* failure = orchid_last_failure();
  EXPECT(strcmp(failure->message, "there are no letters") == 0);
  EXPECT(strcmp(failure->outcome, "function_error") == 0);
  EXPECT(strcmp(failure->function, "letters.letters") == 0 && strcmp(failure->node, "") != 0);
  EXPECT(failure->attempt == 1 && failure->retryable == 0);
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

static int call_back(orchid_function* function) {
  struct answer answer = {0};
  orchid_future* future = NULL;
  EXPECT(orchid_call_start(function, "later", 5, NULL, &future) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_then(future, take_answer, &answer) == ORCHID_STATUS_OK);
  orchid_future_free(future);
  const time_t give_up = time(NULL) + 30;
  while (atomic_load(&answer.calls) == 0) EXPECT(time(NULL) < give_up);
  EXPECT(answer.status == ORCHID_STATUS_OK);
  EXPECT(answer.output.size == 5 && memcmp(answer.output.data, "LATER", 5) == 0);
  orchid_bytes_free(&answer.output);
  return 0;
}

/* As a program does that has the module in its own memory. */
static int deploy_from_memory(orchid_client* client, const char* path, void* room, size_t* size) {
  FILE* const file = fopen(path, "rb");
  EXPECT(file != NULL);
  *size = fread(room, 1, *size, file);
  fclose(file);
  EXPECT(orchid_deploy(client, "capitals", room, *size) == ORCHID_STATUS_OK);
  orchid_bytes output = {NULL, 0};
  EXPECT(orchid_invoke(client, "capitals", "http", 4, 30000000000u, &output) == ORCHID_STATUS_OK);
  EXPECT(output.size == 4 && memcmp(output.data, "HTTP", 4) == 0);
  orchid_bytes_free(&output);
  EXPECT(orchid_deploy(client, "capitals", "no module", 9) == ORCHID_STATUS_MODULE_REJECTED);
  return 0;
}

/* Without a deployment, with an input in the lane. */
static int call_own_module(orchid_lease* lease, const void* module, size_t size) {
  orchid_function* function = NULL;
  EXPECT(orchid_lease_module(lease, module, size, "none", &function) != ORCHID_STATUS_OK);
  EXPECT(orchid_lease_module(lease, module, size, NULL, &function) == ORCHID_STATUS_OK);
  orchid_buffer* buffer = NULL;
  EXPECT(orchid_buffer_make(lease, 4, &buffer) == ORCHID_STATUS_OK);
  orchid_buffer_free(buffer);
  EXPECT(orchid_buffer_make(lease, 4, &buffer) == ORCHID_STATUS_OK);
  memcpy(orchid_buffer_data(buffer), "lane", 4);
  char room[8];
  size_t got = 0;
  EXPECT(orchid_call_buffer(function, buffer, room, sizeof room, &got, NULL) == ORCHID_STATUS_OK);
  EXPECT(got == 4 && memcmp(room, "LANE", 4) == 0);
  orchid_function_free(function);
  return 0;
}

static int ask_for_what_no_host_is(orchid_client* client) {
  const char* const features[] = {"moon"};
  const orchid_lease_options options[] = {
      {.architecture = "vax", .within_ms = 200},
      {.kind = "dpu", .within_ms = 200},
      {.features = features, .feature_count = 1, .within_ms = 200}};
  for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
    orchid_lease* lease = NULL;
    EXPECT(orchid_lease_take(client, &options[i], &lease) == ORCHID_STATUS_NO_CAPACITY);
  }
  return 0;
}

static int call_directly(orchid_client* client, const char* lane, const void* module, size_t size) {
  const orchid_lease_options options = {.workers = 2, .at_least = 1, .lane = lane, .kind = "cpu"};
  orchid_lease* lease = NULL;
  EXPECT(orchid_lease_take(client, &options, &lease) == ORCHID_STATUS_OK);
  orchid_function* function = NULL;
  EXPECT(orchid_lease_function(lease, "letters", &function) == ORCHID_STATUS_OK);
  if (map(lease, function) != 0 || call_back(function) != 0 ||
      call_own_module(lease, module, size) != 0)
    return 1;
  EXPECT(orchid_lease_release(lease) == ORCHID_STATUS_OK);
  orchid_bytes output = {NULL, 0};
  EXPECT(orchid_call_bytes(function, "x", 1, NULL, &output) == ORCHID_STATUS_LEASE_ENDED);
  EXPECT(orchid_release_lease(client, orchid_lease_id(lease)) == ORCHID_STATUS_NOT_FOUND);
  orchid_function_free(function);
  orchid_lease_free(lease);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  orchid_client* client = NULL;
  EXPECT(orchid_client_open(NULL, &client) == ORCHID_STATUS_OK);
  EXPECT(orchid_deploy_file(client, "letters", argv[1]) == ORCHID_STATUS_OK);
  static char module[1 << 20];
  size_t size = sizeof module;
  const int failed = ask_for_what_is_not_there(client) != 0 ||
                     deploy_from_memory(client, argv[1], module, &size) != 0 ||
                     ask_for_what_no_host_is(client) != 0 ||
                     call_directly(client, argv[2], module, size) != 0;
  orchid_client_free(client);
  return failed;
}
