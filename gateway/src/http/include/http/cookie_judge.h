// http/cookie_judge.h: how a connection asks who a browser's cookie says that it is.
#pragma once
#include <expected>
#include <functional>
#include <optional>

#include "http/request.h"
#include "http/response.h"

namespace orchid::gateway {

/// Nothing: the request has no cookie of ours. Else who it is, or why that does not count. Any
/// thread.
using CookieJudge =
    std::function<std::optional<std::expected<PeerIdentity, Response>>(const Request&)>;

}  // namespace orchid::gateway
