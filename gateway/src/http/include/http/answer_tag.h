// http/answer_tag.h: who asks for the same again and again need not be sent it again.
#pragma once
#include <string_view>

#include "http/response.h"

namespace orchid::gateway {

/// Of a document in memory, 200, that has no ETag of its own: gives it one of its content; it
/// becomes a 304 without a body if `if_none_match` names that. Others stay as they are.
void tag_answer(Response& response, std::string_view if_none_match);

}  // namespace orchid::gateway
