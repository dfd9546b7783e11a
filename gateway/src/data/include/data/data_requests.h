// data/data_requests.h: what requests about data objects say, and how they are answered. Pure
// functions.
#pragma once
#include <string>

#include "data/data_object.h"
#include "data/data_service.h"
#include "foundation/result.h"
#include "http/request.h"
#include "http/response.h"

namespace orchid::gateway {

/// A conflict about data is a precondition that does not hold.
[[nodiscard]] Response refuse_data(const Failure& failure);
[[nodiscard]] std::string etag(const DataObject& object);
/// With the object's tag and its label.
[[nodiscard]] Response named(Response response, const DataObject& object);
/// The object that a request is to make, of the name in its path, or of none. Errors:
/// `bad_request`.
[[nodiscard]] Result<DataService::NewData> parse_new_data(const Request& request, ByteCount bytes);

}  // namespace orchid::gateway
