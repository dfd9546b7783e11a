// Rooms that a process of ours fills with what comes from elsewhere.
#include "data/data_book.h"

namespace orchid::executor {

Result<ByteCount> DataBook::open_for_copy(const DataId& data) {
  const auto found = objects_.find(data);
  if (found == objects_.end()) return fail(ErrorCode::not_found, "there is no room for the copy");
  Object& object = found->second;
  if (object.sealed || !object.is_copy)
    return fail(ErrorCode::conflict, "the room is not one for a copy");
  ++object.pins;
  return object.terms.bytes;
}

Result<ByteCount> DataBook::open_for_gateway(const DataId& data) {
  const auto found = objects_.find(data);
  if (found == objects_.end()) return fail(ErrorCode::not_found, "the room is not there any more");
  Object& object = found->second;
  if (object.sealed || object.is_copy || object.writer_came || object.made_by)
    return fail(ErrorCode::conflict, "the room is not one to be written now");
  object.writer_came = true;
  ++object.pins;
  return object.terms.bytes;
}

}  // namespace orchid::executor
