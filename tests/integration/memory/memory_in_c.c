/* memory_in_c MODULE: leased memory by the C API. MODULE is the function uses_memory, to which a
 * lease is handed on. Exit status 0: all is as it should be. */
#include <orchid/orchid.h>
#include <stdio.h>
#include <string.h>

enum { size = 1 << 20, page = 4096, pages = 100 };

#define EXPECT(condition)                                                                  \
  if (!(condition)) {                                                                      \
    fprintf(stderr, "line %d: not so; last failure: %s\n", __LINE__, orchid_last_error()); \
    return 0;                                                                              \
  }

static int put_and_get(orchid_memory* memory) {
  const char text[] = "what is put";
  char read[sizeof(text)] = "";
  uint64_t before = 1;
  EXPECT(orchid_memory_size(memory) == size && strcmp(orchid_memory_host(memory), "host0") == 0);
  EXPECT(strncmp(orchid_memory_id(memory), "l-", 2) == 0);
  EXPECT(orchid_memory_put(memory, 100, text, sizeof(text)) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_get(memory, 100, read, sizeof(read)) == ORCHID_STATUS_OK);
  EXPECT(memcmp(text, read, sizeof(text)) == 0);
  EXPECT(orchid_memory_fetch_add(memory, 8, 5, &before) == ORCHID_STATUS_OK && before == 0);
  EXPECT(orchid_memory_compare_swap(memory, 8, 5, 9, &before) == ORCHID_STATUS_OK && before == 5);
  EXPECT(orchid_memory_fence(memory) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_get(memory, size - 1, read, 2) == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(orchid_memory_fetch_add(memory, 4, 1, &before) == ORCHID_STATUS_BAD_REQUEST);
  return 1;
}

static int come_later(orchid_memory* memory) {
  static char there[size / 2], here[size / 2];
  for (size_t i = 0; i < sizeof(there); ++i) there[i] = (char)(i * 7);
  orchid_memory_coming* coming = NULL;
  EXPECT(orchid_memory_put(memory, page, there, sizeof(there)) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_start_get(memory, size, here, 1, &coming) == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(orchid_memory_start_get(memory, page, here, sizeof(here), &coming) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_wait(coming) == ORCHID_STATUS_OK && orchid_memory_ready(coming) == 1);
  orchid_memory_coming_free(coming);
  EXPECT(memcmp(there, here, sizeof(here)) == 0);
  /* One that nobody waits for writes nothing when it was freed. */
  EXPECT(orchid_memory_start_get(memory, page, here, sizeof(here), &coming) == ORCHID_STATUS_OK);
  orchid_memory_coming_free(coming);
  return 1;
}

static int go_in_rows(orchid_memory* memory) {
  uint64_t column[64], read[64], one = 0;
  for (uint64_t i = 0; i < 64; ++i) column[i] = i * i;
  const orchid_memory_rows rows = {.offset = 16, .row = 8, .stride = 1000, .count = 64};
  EXPECT(orchid_memory_put_rows(memory, &rows, column) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_get_rows(memory, &rows, read) == ORCHID_STATUS_OK);
  EXPECT(memcmp(column, read, sizeof(read)) == 0);
  EXPECT(orchid_memory_get(memory, 16 + 5000, &one, 8) == ORCHID_STATUS_OK && one == 25);
  const orchid_memory_rows overlap = {.row = 8, .stride = 4, .count = 2};
  EXPECT(orchid_memory_get_rows(memory, &overlap, read) == ORCHID_STATUS_BAD_REQUEST);
  const orchid_memory_rows beyond = {.row = 1ULL << 40, .stride = 1ULL << 40, .count = 1ULL << 30};
  EXPECT(orchid_memory_get_rows(memory, &beyond, read) == ORCHID_STATUS_BAD_REQUEST);
  return 1;
}

static int go_together(orchid_memory* memory) {
  static char there[pages][page], here[pages][page];
  uint64_t column[4] = {1, 2, 3, 4}, read[4] = {0};
  orchid_memory_step steps[2 * pages + 2];
  for (uint64_t i = 0; i < pages; ++i) {
    memset(there[i], (int)i + 1, page);
    const orchid_memory_rows rows = {.offset = i * page, .row = page, .count = 1};
    steps[2 * i] = (orchid_memory_step){.rows = rows, .put = there[i]};
    steps[2 * i + 1] = (orchid_memory_step){.rows = rows, .get = here[i]};
  }
  const orchid_memory_rows rows = {.offset = 0, .row = 8, .stride = page, .count = 4};
  steps[2 * pages] = (orchid_memory_step){.rows = rows, .put = column};
  steps[2 * pages + 1] = (orchid_memory_step){.rows = rows, .get = read};
  EXPECT(orchid_memory_run(memory, steps, 2 * pages + 2) == ORCHID_STATUS_OK);
  EXPECT(memcmp(there, here, sizeof(here)) == 0 && memcmp(column, read, sizeof(read)) == 0);
  /* One of them is not within the memory: none is done. */
  steps[1].rows.offset = size;
  memset(there[0], 77, page);
  EXPECT(orchid_memory_run(memory, steps, 2) == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(orchid_memory_get(memory, 8, here[0], 1) == ORCHID_STATUS_OK && here[0][0] == 1);
  EXPECT(orchid_memory_run(memory, NULL, 0) == ORCHID_STATUS_OK);
  return 1;
}

/* Each step says where its bytes are, once: else none is done. */
static int steps_that_are_no_steps(orchid_memory* memory) {
  uint64_t there[] = {7, 7, 7}, here[] = {8, 8, 8};
  const orchid_memory_rows numbers = {.offset = 0, .row = 8, .count = 1};
  orchid_memory_step steps[] = {{.rows = numbers, .put = there}, {.rows = numbers}};
  EXPECT(orchid_memory_put(memory, 0, here, 8) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_run(memory, steps, 2) == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(strstr(orchid_last_error(), "neither put nor get") != NULL);
  steps[1].put = there;
  steps[1].get = here;
  EXPECT(orchid_memory_run(memory, steps, 2) == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(strstr(orchid_last_error(), "both put and get") != NULL);
  EXPECT(orchid_memory_get(memory, 0, &here[1], 8) == ORCHID_STATUS_OK && here[1] == 8);
  const orchid_memory_step none = {.rows = {.row = 8, .stride = 8}};
  EXPECT(orchid_memory_run(memory, &none, 1) == ORCHID_STATUS_OK); /* no row is no byte */
  return 1;
}

/* A program takes a lease for a call, and looks afterwards at what that has done. */
static int hand_on(orchid_client* client, const char* module) {
  const orchid_memory_options options = {.bytes = size, .host = "host0", .duration_ms = 120000};
  char id[ORCHID_LEASE_ID_SIZE] = "";
  char asked[ORCHID_LEASE_ID_SIZE + 16];
  orchid_bytes said = {NULL, 0};
  orchid_memory* memory = NULL;
  uint64_t before = 0;
  EXPECT(orchid_deploy_file(client, "uses_memory", module) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_reserve(client, &options, id) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_keep(client, id, 60000) == ORCHID_STATUS_OK);
  snprintf(asked, sizeof(asked), "%s add 16 41", id);
  EXPECT(orchid_invoke(client, "uses_memory", asked, strlen(asked), 60000000000U, &said) ==
         ORCHID_STATUS_OK);
  EXPECT(said.size == 1 && memcmp(said.data, "0", 1) == 0);
  orchid_bytes_free(&said);
  EXPECT(orchid_memory_attach(client, id, NULL, &memory) == ORCHID_STATUS_OK);
  EXPECT(strcmp(orchid_memory_id(memory), id) == 0 && orchid_memory_size(memory) == size);
  EXPECT(orchid_memory_fetch_add(memory, 16, 1, &before) == ORCHID_STATUS_OK && before == 41);
  orchid_memory_free(memory);
  EXPECT(orchid_memory_keep(client, id, 60000) == ORCHID_STATUS_OK); /* it is there */
  EXPECT(orchid_release_lease(client, id) == ORCHID_STATUS_OK);
  EXPECT(orchid_memory_attach(client, id, NULL, &memory) == ORCHID_STATUS_NOT_FOUND);
  EXPECT(orchid_memory_keep(client, id, 60000) == ORCHID_STATUS_NOT_FOUND);
  return 1;
}

static int use(orchid_client* client, const char* module) {
  const orchid_memory_options nowhere = {.bytes = size, .host = "host9"};
  const orchid_memory_options options = {.bytes = size, .host = "host0"};
  orchid_memory* memory = NULL;
  EXPECT(orchid_memory_take(client, &nowhere, &memory) == ORCHID_STATUS_NO_CAPACITY);
  EXPECT(orchid_memory_take(client, &options, &memory) == ORCHID_STATUS_OK);
  const int good = put_and_get(memory) && come_later(memory) && go_in_rows(memory) &&
                   go_together(memory) && steps_that_are_no_steps(memory) &&
                   hand_on(client, module);
  orchid_memory_free(memory);
  return good;
}

int main(int argc, char** argv) {
  orchid_client* client = NULL;
  if (argc != 2 || orchid_client_open(NULL, &client) != ORCHID_STATUS_OK) return 2;
  const int good = use(client, argv[1]);
  orchid_client_free(client);
  return good ? 0 : 1;
}
