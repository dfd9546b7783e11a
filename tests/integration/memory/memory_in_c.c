/* memory_in_c.c: leased memory by the C API. Exit status 0: all is as it should be. */
#include <orchid/orchid.h>
#include <stdio.h>
#include <string.h>

enum { size = 1 << 20 };

static int is(orchid_status got, orchid_status wanted, const char* what) {
  if (got == wanted) return 1;
  fprintf(stderr, "%s: %s, not %s (%s)\n", what, orchid_status_name(got),
          orchid_status_name(wanted), orchid_last_error());
  return 0;
}

static int use(orchid_memory* memory) {
  const char text[] = "what is put";
  char read[sizeof(text)] = "";
  uint64_t before = 1;
  if (orchid_memory_size(memory) != size || strcmp(orchid_memory_host(memory), "host0") != 0)
    return 0;
  return is(orchid_memory_put(memory, 100, text, sizeof(text)), ORCHID_STATUS_OK, "put") &&
         is(orchid_memory_get(memory, 100, read, sizeof(read)), ORCHID_STATUS_OK, "get") &&
         memcmp(text, read, sizeof(text)) == 0 &&
         is(orchid_memory_fetch_add(memory, 8, 5, &before), ORCHID_STATUS_OK, "fetch_add") &&
         before == 0 &&
         is(orchid_memory_compare_swap(memory, 8, 5, 9, &before), ORCHID_STATUS_OK,
            "compare_swap") &&
         before == 5 && is(orchid_memory_fence(memory), ORCHID_STATUS_OK, "fence") &&
         is(orchid_memory_get(memory, size - 1, read, 2), ORCHID_STATUS_BAD_REQUEST,
            "beyond the end") &&
         is(orchid_memory_fetch_add(memory, 4, 1, &before), ORCHID_STATUS_BAD_REQUEST,
            "not aligned");
}

int main(void) {
  orchid_client* client = NULL;
  orchid_memory* memory = NULL;
  if (!is(orchid_client_open(NULL, &client), ORCHID_STATUS_OK, "open")) return 1;
  if (!is(orchid_memory_take(client, size, "host9", &memory), ORCHID_STATUS_NO_CAPACITY,
          "no such host"))
    return 1;
  if (!is(orchid_memory_take(client, size, "host0", &memory), ORCHID_STATUS_OK, "take")) return 1;
  const int good = use(memory);
  orchid_memory_free(memory);
  orchid_client_free(client);
  return good ? 0 : 1;
}
