/* Deploys the module that it is given, and asks for a function that is not there. */
#include <stdio.h>

#include "orchid/orchid.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  orchid_client* client = NULL;
  if (orchid_client_open(NULL, &client) != ORCHID_STATUS_OK ||
      orchid_deploy_file(client, "scale", argv[1]) != ORCHID_STATUS_OK) {
    fprintf(stderr, "%s\n", orchid_last_error());
    return 3;
  }
  orchid_bytes output = {NULL, 0};
  const orchid_status status = orchid_invoke(client, "missing", "", 0, 0, &output);
  orchid_client_free(client);
  return status == ORCHID_STATUS_NOT_FOUND ? 0 : 1;
}
