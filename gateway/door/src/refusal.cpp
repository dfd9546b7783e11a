#include "refusal.h"

#include <nlohmann/json.hpp>

namespace orchid::door {

std::string problem_document(const Refusal& refusal) {
  const nlohmann::json document{
      {"type", "urn:orchid:problem:" + std::string(to_string(refusal.code))},
      {"title", "The door could not pass the request on"},
      {"status", refusal.status},
      {"detail", refusal.detail},
      {"retryable", refusal.retryable}};
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string http_response(const Refusal& refusal) {
  const std::string document = problem_document(refusal);
  return "HTTP/1.1 " + std::to_string(refusal.status) +
         " Refused\r\nContent-Type: application/problem+json\r\nOrchid-Door: refused\r\n"
         "Content-Length: " +
         std::to_string(document.size()) + "\r\n\r\n" + document;
}

}  // namespace orchid::door
