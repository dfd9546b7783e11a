/* data_in_c MODULE FOLDER: data objects by the C API: made, read, listed, and given to calls of
 * MODULE, sums_data.c. Files go to FOLDER. Exit status 0: all is as it should be. */
#include <orchid/orchid.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { large = 3 << 20 };

#define EXPECT(condition)                                                                  \
  if (!(condition)) {                                                                      \
    fprintf(stderr, "line %d: not so; last failure: %s\n", __LINE__, orchid_last_error()); \
    return 0;                                                                              \
  }

static int says(const orchid_bytes* bytes, const char* text) {
  return bytes->size == strlen(text) && memcmp(bytes->data, text, bytes->size) == 0;
}

static int make(orchid_client* client) {
  const orchid_data_info* made = NULL;
  EXPECT(orchid_data_put(client, "numbers", "123", 3, NULL, &made) == ORCHID_STATUS_OK);
  EXPECT(strncmp(made->id, "d-", 2) == 0 && strcmp(made->name, "numbers") == 0);
  EXPECT(made->version == 1 && made->size == 3 && strcmp(made->state, "sealed") == 0);
  EXPECT(made->host_count == 1 && made->hosts[0][0] != 0 && made->next == NULL);
  const orchid_data_options fresh = {.only_new = 1};
  EXPECT(orchid_data_put(client, "numbers", "4", 1, &fresh, NULL) == ORCHID_STATUS_CONFLICT);
  const orchid_data_options next = {.if_match = made->id, .expires_in_s = 3600};
  EXPECT(orchid_data_put(client, "numbers", "4567", 4, &next, NULL) == ORCHID_STATUS_OK);
  EXPECT(orchid_data_put(client, "numbers", "8", 1, &next, NULL) == ORCHID_STATUS_CONFLICT);
  orchid_data_info_free(made);
  EXPECT(orchid_data_describe(client, "numbers", &made) == ORCHID_STATUS_OK);
  EXPECT(made->version == 2 && made->size == 4 && made->expires[0] != 0);
  orchid_data_info_free(made);
  EXPECT(orchid_data_describe(client, "nothing", &made) == ORCHID_STATUS_NOT_FOUND);
  orchid_data_info_free(NULL);
  return 1;
}

static int read_back(orchid_client* client) {
  orchid_bytes bytes = {NULL, 0};
  char room[4];
  size_t size = 0;
  EXPECT(orchid_data_get(client, "numbers@1", &bytes) == ORCHID_STATUS_OK && says(&bytes, "123"));
  orchid_bytes_free(&bytes);
  EXPECT(orchid_data_get_into(client, "numbers", room, sizeof(room), &size) == ORCHID_STATUS_OK);
  EXPECT(size == 4 && memcmp(room, "4567", 4) == 0);
  EXPECT(orchid_data_get_into(client, "numbers", room, 3, &size) == ORCHID_STATUS_TOO_LARGE);
  EXPECT(size == 4);
  EXPECT(orchid_data_get(client, "nothing", &bytes) == ORCHID_STATUS_NOT_FOUND);
  EXPECT(orchid_data_get_into(client, "nothing", room, 3, &size) == ORCHID_STATUS_NOT_FOUND);
  orchid_data_mapping* mapping = NULL;
  EXPECT(orchid_data_map(client, "nothing", &mapping) == ORCHID_STATUS_NOT_FOUND);
  EXPECT(orchid_data_map(client, "numbers", &mapping) == ORCHID_STATUS_OK);
  const void* mapped = orchid_data_mapping_bytes(mapping, &size);
  EXPECT(size == 4 && memcmp(mapped, "4567", 4) == 0);
  orchid_data_mapping_free(mapping);
  return 1;
}

/* Through files, with more than goes at once. */
static int go_through_files(orchid_client* client, const char* folder) {
  char from[512], to[512];
  static char content[large], got[large + 1];
  const orchid_data_info* made = NULL;
  snprintf(from, sizeof(from), "%s/from", folder);
  snprintf(to, sizeof(to), "%s/to", folder);
  for (size_t i = 0; i < large; ++i) content[i] = (char)(i * 31 >> 3);
  FILE* file = fopen(from, "wb");
  EXPECT(file != NULL && fwrite(content, 1, large, file) == large && fclose(file) == 0);
  EXPECT(orchid_data_put_file(client, "missing", to, NULL, NULL) == ORCHID_STATUS_NOT_FOUND);
  EXPECT(orchid_data_put_file(client, "missing", folder, NULL, NULL) == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(mkfifo(to, 0600) == 0); /* into which nobody writes */
  EXPECT(orchid_data_put_file(client, "missing", to, NULL, NULL) == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(unlink(to) == 0);
  EXPECT(orchid_data_put_file(client, NULL, from, NULL, &made) == ORCHID_STATUS_OK);
  EXPECT(made->size == large && strcmp(made->name, "") == 0);
  EXPECT(orchid_data_get_file(client, "missing", to) == ORCHID_STATUS_NOT_FOUND);
  file = fopen(to, "rb");
  EXPECT(file == NULL); /* nothing was made */
  EXPECT(orchid_data_get_file(client, made->id, "/dev/null") == ORCHID_STATUS_BAD_REQUEST);
  EXPECT(orchid_data_get_file(client, made->id, to) == ORCHID_STATUS_OK);
  EXPECT(orchid_data_get_file(client, made->id, to) == ORCHID_STATUS_OK); /* over the old one */
  file = fopen(to, "rb");
  EXPECT(file != NULL && fread(got, 1, sizeof(got), file) == large && fclose(file) == 0);
  EXPECT(memcmp(content, got, large) == 0);
  EXPECT(orchid_data_remove(client, made->id) == ORCHID_STATUS_OK);
  EXPECT(orchid_data_remove(client, made->id) == ORCHID_STATUS_NOT_FOUND);
  orchid_data_info_free(made);
  return 1;
}

static int list(orchid_client* client) {
  const orchid_data_info* first = NULL;
  int found = 0;
  EXPECT(orchid_data_list(client, &first) == ORCHID_STATUS_OK);
  for (const orchid_data_info* one = first; one != NULL; one = one->next)
    if (strcmp(one->name, "numbers") == 0) found += (int)one->version;
  EXPECT(found == 1 + 2);
  orchid_data_info_free(first);
  return 1;
}

static int give_to_calls(orchid_client* client, const char* module) {
  const char* const names[] = {"numbers", "numbers@1"};
  const orchid_invoke_options options = {.data = names, .data_count = 2};
  const orchid_invoke_options kept = {.data = names, .data_count = 1, .output_data = "sums"};
  const char* const missing[] = {"nothing"};
  const orchid_invoke_options in_vain = {.data = missing, .data_count = 1};
  orchid_bytes output = {NULL, 0};
  EXPECT(orchid_deploy_file(client, "sums_data", module) == ORCHID_STATUS_OK);
  EXPECT(orchid_invoke_with(client, "sums_data", "", 0, NULL, &output) == ORCHID_STATUS_OK);
  EXPECT(says(&output, "0 of 0 in 0"));
  orchid_bytes_free(&output);
  EXPECT(orchid_invoke_with(client, "sums_data", "", 0, &options, &output) == ORCHID_STATUS_OK);
  EXPECT(says(&output, "364 of 7 in 2"));
  orchid_bytes_free(&output);
  EXPECT(orchid_invoke_with(client, "sums_data", "", 0, &in_vain, &output) ==
         ORCHID_STATUS_NOT_FOUND);
  EXPECT(orchid_invoke_with(client, "sums_data", "", 0, &kept, &output) == ORCHID_STATUS_OK);
  EXPECT(output.size > 0 && memchr(output.data, '{', output.size) == output.data);
  orchid_bytes_free(&output);
  EXPECT(orchid_data_get(client, "sums", &output) == ORCHID_STATUS_OK);
  EXPECT(says(&output, "214 of 4 in 1"));
  orchid_bytes_free(&output);
  EXPECT(orchid_data_remove(client, "sums") == ORCHID_STATUS_OK);
  return 1;
}

static int call_with_data(orchid_lease* lease, orchid_client* client) {
  orchid_function* function = NULL;
  orchid_leased_data* data[2] = {NULL, NULL};
  orchid_bytes output = {NULL, 0};
  orchid_future* future = NULL;
  EXPECT(orchid_lease_function(lease, "sums_data", &function) == ORCHID_STATUS_OK);
  EXPECT(orchid_lease_data(lease, "nothing", &data[0]) == ORCHID_STATUS_NOT_FOUND);
  EXPECT(orchid_lease_data(lease, "numbers", &data[0]) == ORCHID_STATUS_OK);
  EXPECT(orchid_leased_data_size(data[0]) == 4);
  EXPECT(orchid_lease_data(lease, "numbers@1", &data[1]) == ORCHID_STATUS_OK);
  EXPECT(strncmp(orchid_leased_data_id(data[1]), "d-", 2) == 0);
  const orchid_leased_data* const given[] = {data[0], data[1]};
  const orchid_call_options both = {.data = given, .data_count = 2};
  const orchid_call_options one = {.data = given, .data_count = 1};
  EXPECT(orchid_call_bytes(function, "", 0, &both, &output) == ORCHID_STATUS_OK);
  EXPECT(says(&output, "364 of 7 in 2"));
  orchid_bytes_free(&output);
  EXPECT(orchid_call_start(function, "", 0, &one, &future) == ORCHID_STATUS_OK);
  EXPECT(orchid_future_get(future, &output) == ORCHID_STATUS_OK && says(&output, "214 of 4 in 1"));
  orchid_bytes_free(&output);
  orchid_future_free(future);
  EXPECT(orchid_data_remove(client, "numbers") == ORCHID_STATUS_OK);
  EXPECT(orchid_lease_data(lease, "numbers", &data[1]) == ORCHID_STATUS_NOT_FOUND);
  orchid_leased_data_free(data[0]);
  orchid_leased_data_free((orchid_leased_data*)given[1]);
  orchid_function_free(function);
  return 1;
}

static int give_to_calls_of_a_lease(orchid_client* client) {
  orchid_lease* lease = NULL;
  EXPECT(orchid_lease_take(client, NULL, &lease) == ORCHID_STATUS_OK);
  const int good = call_with_data(lease, client);
  orchid_lease_free(lease);
  return good;
}

int main(int argc, char** argv) {
  orchid_client* client = NULL;
  if (argc != 3 || orchid_client_open(NULL, &client) != ORCHID_STATUS_OK) return 2;
  const int good = make(client) && read_back(client) && go_through_files(client, argv[2]) &&
                   list(client) && give_to_calls(client, argv[1]) &&
                   give_to_calls_of_a_lease(client);
  orchid_client_free(client);
  return good ? 0 : 1;
}
