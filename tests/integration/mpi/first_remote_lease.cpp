// UCX comes into a program with its first lane to another host, and changes nothing of the program.
#include "orchid/client.h"
#include "orchid/lease.h"
#include "process_state.h"

int main() {
  const ProcessState before = ProcessState::now();
  orchid::Client client;
  {
    orchid::Lease local = client.lease({.lane = "local"});
    expect(local.function("echo").invoke("here").text() == "here", "a local call");
  }
  expect(!has_mapped("libucp") && !has_mapped("libucs"), "no UCX before the first remote lane");
  orchid::Lease remote = client.lease({.lane = "ucx"});
  expect(remote.function("echo").invoke("there").text() == "there", "a remote call");
  expect(has_mapped("libucp"), "UCX is there after it");
  expect(ProcessState::now() == before, "environment and signal handlers are as before");
}
