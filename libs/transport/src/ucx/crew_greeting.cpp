#include "ucx/crew_greeting.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "foundation/random.h"

namespace orchid::transport {
namespace {

constexpr std::size_t salt_bytes = 8;

/// What the key makes of the hello's fixed part and its salt.
Result<ConnectionKey> seal(const Hello& hello, const ConnectionKey& key) {
  const auto open = bytes_of(hello).first(offsetof(Hello, key) + salt_bytes);
  const auto proof = make_crew_proof(key, "orchid crew hello", {open});
  if (!proof) return fail(proof.error());
  ConnectionKey sealed = hello.key;
  std::copy_n(proof->begin(), sealed.size() - salt_bytes, sealed.begin() + salt_bytes);
  return sealed;
}

Result<CrewProof> prove(const CrewGreeting& greeting, std::string_view purpose,
                        const CrewWelcome& welcome) {
  return make_crew_proof(
      greeting.key, purpose,
      {bytes_of(greeting.hello), bytes_of(welcome).first(offsetof(CrewWelcome, proof))});
}

std::string_view text_of(const CrewProof& proof) {
  return {reinterpret_cast<const char*>(proof.data()), proof.size()};
}

Result<void> compare(const CrewProof& said, const Result<CrewProof>& right) {
  if (!right) return fail(right.error());
  if (equal_in_constant_time(text_of(said), text_of(*right))) return {};
  return fail(ErrorCode::denied, "who is at the address of another member does not have its key");
}

}  // namespace

Result<Hello> make_crew_hello(const ConnectionKey& key, std::uint16_t version) {
  Hello hello{.magic = crew_magic, .version = version, .key = {}};
  fill_random(std::span(hello.key).first<salt_bytes>());
  auto sealed = seal(hello, key);
  if (!sealed) return fail(std::move(sealed.error()));
  hello.key = *sealed;
  return hello;
}

bool is_crew_hello(const Hello& hello, const ConnectionKey& key) {
  const auto sealed = seal(hello, key);
  return sealed && same_key(*sealed, hello.key);
}

Result<CrewWelcome> CrewGreeting::welcome() const {
  CrewWelcome welcome;
  fill_random(welcome.salt);
  auto proof = prove(*this, "orchid crew welcome", welcome);
  if (!proof) return fail(std::move(proof.error()));
  welcome.proof = *proof;
  return welcome;
}

Result<void> CrewGreeting::check(const CrewWelcome& welcome) const {
  return compare(welcome.proof, prove(*this, "orchid crew welcome", welcome));
}

Result<CrewProof> CrewGreeting::thanks(const CrewWelcome& welcome) const {
  return prove(*this, "orchid crew thanks", welcome);
}

Result<void> CrewGreeting::check(const CrewWelcome& welcome, const CrewProof& thanks) const {
  return compare(thanks, this->thanks(welcome));
}

}  // namespace orchid::transport
