// user_code/escaped_exception.h: what is said of an exception that has left an entry.
#pragma once
#include <string>

namespace orchid::executor {

/// "std::out_of_range: index 7". Within a handler, while the code that has thrown is there: the
/// exception may be of a type of its own.
[[nodiscard]] std::string describe_current_exception();

}  // namespace orchid::executor
