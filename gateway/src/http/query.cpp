#include "http/query.h"

#include <algorithm>
#include <optional>
#include <set>

#include "http/request.h"

namespace orchid::gateway {
namespace {

struct Pair {
  std::optional<std::string> name;  // nothing: badly encoded
  std::optional<std::string> value;
};

/// As forms write it: a '+' is a blank.
std::optional<std::string> decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  std::string plain;
  if (!decode_percent(spaced, plain)) return std::nullopt;
  return plain;
}

/// The first pair of a query that is not empty; the query is left with the others.
Pair take_pair(std::string_view& query) {
  const std::size_t end = std::min(query.find('&'), query.size());
  const std::string_view pair = query.substr(0, end);
  query.remove_prefix(std::min(end + 1, query.size()));
  const std::size_t equals = std::min(pair.find('='), pair.size());
  return {.name = decoded(pair.substr(0, equals)),
          .value = decoded(pair.substr(std::min(equals + 1, pair.size())))};
}

std::string names_of(std::span<const std::string> declared) {
  if (declared.empty()) return "this path takes no query parameters";
  std::string names;
  for (const std::string& name : declared) names += (names.empty() ? "" : ", ") + name;
  return "this path takes " + names;
}

}  // namespace

Result<void> check_query(std::string_view query, std::span<const std::string> declared) {
  const auto refuse = [](const std::string& name, const std::string& fault) {
    return fail(ErrorCode::bad_request, "the query parameter '" + name + "' " + fault);
  };
  std::set<std::string> seen;
  while (!query.empty()) {
    const Pair pair = take_pair(query);
    if (!pair.name)
      return fail(ErrorCode::bad_request, "a name in the query is badly encoded: see RFC 3986");
    if (std::ranges::find(declared, *pair.name) == declared.end())
      return refuse(*pair.name, "is not known: " + names_of(declared));
    if (!seen.insert(*pair.name).second) return refuse(*pair.name, "comes twice: give it once");
    if (!pair.value) return refuse(*pair.name, "is badly encoded: see RFC 3986");
    if (pair.value->empty())
      return refuse(*pair.name, "has no value: give it one, or leave it out");
  }
  return {};
}

std::string query_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    Pair pair = take_pair(query);
    if (pair.name == name) return std::move(pair.value).value_or("");
  }
  return {};
}

}  // namespace orchid::gateway
