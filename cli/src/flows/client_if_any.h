// flows/client_if_any.h: an Orchid, for commands that also work without one.
#pragma once
#include <expected>
#include <string>

#include "orchid/client.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// A client whose gateway answers; else why there is none. Throws `orchid::Error` for what is wrong
/// with one that answers.
[[nodiscard]] std::expected<Client, std::string> client_if_any(const Shell& shell);

}  // namespace orchid::cli
