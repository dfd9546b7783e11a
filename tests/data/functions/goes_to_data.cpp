// Entries that go on where a data object is: its name or id is their input, with a zero behind it.
#include <cstdint>
#include <cstring>

#include "orchid/function.hpp"

namespace {

std::int32_t say_member(orchid_call* call) {
  const std::uint32_t member = orchid_member(call);
  void* output = orchid_output(call, sizeof(member));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, &member, sizeof(member));
  return ORCHID_OK;
}

}  // namespace

ORCHID_ENTRY(make_object) {
  void* room = nullptr;
  const std::int32_t made = orchid_data_create(call, 4096, &room);
  if (made != ORCHID_OK) return made;
  char id[ORCHID_DATA_ID_SIZE];
  const std::int32_t sealed =
      orchid_data_seal(call, room, 4096, static_cast<const char*>(input), id);
  if (sealed != ORCHID_OK) return sealed;
  void* output = orchid_output(call, sizeof(id));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, id, sizeof(id));
  return ORCHID_OK;
}

/// It is mapped at its member from then on.
ORCHID_ENTRY(open_object) {
  const void* bytes = nullptr;
  std::uint64_t size = 0;
  const std::int32_t status =
      orchid_data_open(call, static_cast<const char*>(input), &bytes, &size);
  return status == ORCHID_OK ? say_member(call) : status;
}

/// Output: the member where the call has ended.
ORCHID_ENTRY(to_object) {
  orchid::Call running(call);
  const auto* const name = input_size == 0 ? nullptr : static_cast<const char*>(input);
  return running.forward_to_data(name, {static_cast<const std::byte*>(input), input_size},
                                 "open_object")
             ? ORCHID_OK
             : ORCHID_ERROR;
}

ORCHID_ENTRY(to_object_as_child) {
  orchid::Call running(call);
  (void)running.spawn("to_object", {static_cast<const std::byte*>(input), input_size});
  return running.then("open_object", {}) ? ORCHID_OK : ORCHID_ERROR;
}
