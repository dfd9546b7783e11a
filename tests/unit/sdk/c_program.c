#include "c_program.h"

#include <stdlib.h>
#include <string.h>

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

int run_c_program(const char* gateway) {
  orchid_client* client = NULL;
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
  orchid_lease_free(lease);
  size_t size = 0;
  EXPECT(orchid_call_into(late, "x", 1, NULL, 0, &size, NULL) == ORCHID_STATUS_LEASE_ENDED);
  orchid_function_free(late);
  orchid_client_free(client);
  orchid_client_free(NULL);
  return failed;
}
