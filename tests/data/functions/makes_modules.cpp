// Functions that make modules, and everything that can be wrong with them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchid/function.hpp"

ORCHID_CONSTANT(std::uint64_t, answer, 1);
using Shape = double[3];
ORCHID_CONSTANT(Shape, shape, {});
ORCHID_CONSTANT(bool, truth, false);
struct Pair {
  std::uint32_t one;
  std::uint32_t two;
};
ORCHID_CONSTANT(Pair, pair, {});

namespace {

std::int32_t give(orchid_call* call, const void* bytes, std::size_t size) {
  void* output = orchid_output(call, size);
  if (output == nullptr) return ORCHID_ERROR;
  if (size > 0) std::memcpy(output, bytes, size);
  return ORCHID_OK;
}

/// In front of an entry's name, its input and a module.
struct Plan {
  std::uint32_t how;
  std::uint32_t member;
  std::uint32_t name;
  std::uint32_t input;
};
enum : std::uint32_t { only_deploy, by_forward, by_invoke, by_spawn, tolerate };

/// In bitcode a symbol's name is whole bytes, and nothing else depends on it.
void call_walk_tour(std::span<std::byte> module) {
  constexpr std::string_view old_name = "orchid_entry_walk";
  constexpr std::string_view new_name = "orchid_entry_tour";
  const auto is_letter = [](std::byte byte, char letter) {
    return byte == static_cast<std::byte>(letter);
  };
  auto found = module.begin();
  while ((found = std::search(found, module.end(), old_name.begin(), old_name.end(), is_letter)) !=
         module.end()) {
    std::memcpy(&*found, new_name.data(), new_name.size());
    found += static_cast<std::ptrdiff_t>(new_name.size());
  }
}

/// `changes`: what is deployed is made here.
std::int32_t follow_plan(orchid_call* call, const void* input, std::size_t input_size,
                         bool changes) {
  orchid::Call running(call);
  Plan plan{};
  if (input_size < sizeof(plan)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&plan, input, sizeof(plan));
  const auto* rest = static_cast<const std::byte*>(input) + sizeof(plan);
  const auto* end = static_cast<const std::byte*>(input) + input_size;
  std::vector<std::byte> module(rest + plan.name + plan.input, end);
  if (changes) call_walk_tour(module);
  std::array<char, ORCHID_DIGEST_SIZE> digest{};
  const std::int32_t status =
      orchid_deploy_module(call, module.data(), module.size(), digest.data());
  if (plan.how == tolerate) return give(call, &status, sizeof(status));
  if (status != ORCHID_OK) return status;
  if (plan.how == only_deploy) return give(call, digest.data(), std::strlen(digest.data()));
  const std::string entry = std::string(digest.data()) + "." +
                            std::string(reinterpret_cast<const char*>(rest), plan.name);
  const std::span<const std::byte> asked(rest + plan.name, plan.input);
  if (plan.how == by_forward)
    return running.forward(plan.member, asked, entry.c_str()) ? ORCHID_OK : ORCHID_ERROR;
  if (plan.how == by_spawn) {
    for (int i = 0; i < 8; ++i) (void)running.spawn(entry.c_str(), asked);
    return running.then("first_output", {}) ? ORCHID_OK : ORCHID_ERROR;
  }
  const auto output = running.invoke(entry.c_str(), asked);
  return output ? give(call, output->data(), output->size()) : ORCHID_ERROR;
}

}  // namespace

/// Input: a plan. Output: the digest, the status, or what the entry of the new module answers.
ORCHID_ENTRY(deploy_and_go) { return follow_plan(call, input, input_size, false); }
/// The same with a module that nobody has had before: its entry `walk` has the name `tour`.
ORCHID_ENTRY(deploy_changed_and_go) { return follow_plan(call, input, input_size, true); }
ORCHID_ENTRY(first_output) {
  orchid::Call running(call);
  for (std::uint32_t i = 0; i < running.child_count(); ++i)
    if (running.child(i).size() != running.child(0).size()) return ORCHID_ERROR;
  return give(call, running.child(0).data(), running.child(0).size());
}

/// Input: u64, how many zeros to deploy.
ORCHID_ENTRY(deploy_zeros) {
  std::uint64_t size = 0;
  if (input_size != sizeof(size)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&size, input, sizeof(size));
  const std::vector<std::byte> zeros(size);
  return orchid_deploy_module(call, zeros.data(), zeros.size(), nullptr);
}

/// Input: u32 member, then a constant's name, a zero and its value. Goes on there in say_constants
/// of a module with that constant.
ORCHID_ENTRY(specialise_and_go) {
  std::uint32_t member = 0;
  if (input_size < sizeof(member)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&member, input, sizeof(member));
  const auto* name = static_cast<const char*>(input) + sizeof(member);
  const std::size_t length = strnlen(name, input_size - sizeof(member));
  const orchid_constant constant{name, name + length + 1, input_size - sizeof(member) - length - 1};
  std::array<char, ORCHID_DIGEST_SIZE> digest{};
  if (const std::int32_t status = orchid_specialise(call, nullptr, &constant, 1, digest.data());
      status != ORCHID_OK)
    return status;
  const std::string entry = std::string(digest.data()) + ".say_constants";
  return orchid_forward(call, member, entry.c_str(), nullptr, 0);
}
/// Input: u32 member, then DIGEST.ENTRY. Goes on there.
ORCHID_ENTRY(go_on) {
  std::uint32_t member = 0;
  if (input_size < sizeof(member)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(&member, input, sizeof(member));
  const std::string entry(static_cast<const char*>(input) + sizeof(member),
                          input_size - sizeof(member));
  return orchid_forward(call, member, entry.c_str(), nullptr, 0);
}
/// Input: u64. The digest of the module with this as its answer.
ORCHID_ENTRY(specialise_only) {
  if (input_size != sizeof(std::uint64_t)) return ORCHID_BAD_ARGUMENTS;
  const orchid_constant constant{"answer", input, input_size};
  std::array<char, ORCHID_DIGEST_SIZE> digest{};
  const std::int32_t status = orchid_specialise(call, nullptr, &constant, 1, digest.data());
  return status == ORCHID_OK ? give(call, digest.data(), std::strlen(digest.data())) : status;
}
struct Constants {
  std::uint64_t answer;
  double shape[3];
  std::uint64_t member;
};
ORCHID_ENTRY(say_constants) {
  Constants constants{.answer = orchid_constant_answer, .shape = {}, .member = orchid_member(call)};
  std::memcpy(constants.shape, orchid_constant_shape, sizeof(constants.shape));
  (void)orchid_constant_truth, (void)orchid_constant_pair;
  return give(call, &constants, sizeof(constants));
}
/// What was specialised once cannot be again. Input as of specialise_and_go.
ORCHID_ENTRY(specialise_twice) {
  constexpr std::uint64_t value = 3;
  const orchid_constant constant{"answer", &value, sizeof(value)};
  std::array<char, ORCHID_DIGEST_SIZE> digest{};
  const std::int32_t status = orchid_specialise(call, nullptr, &constant, 1, digest.data());
  if (status != ORCHID_OK) return status;
  return orchid_specialise(call, digest.data(), &constant, 1, nullptr);
}
/// Input: a digest, or something else. Of the module with that.
ORCHID_ENTRY(specialise_other) {
  const std::string base(static_cast<const char*>(input), input_size);
  constexpr std::uint64_t value = 3;
  const orchid_constant constant{"answer", &value, sizeof(value)};
  return orchid_specialise(call, base.c_str(), &constant, 1, nullptr);
}
/// Input: u64. Makes the module with this as its answer, again and again, until it is refused.
ORCHID_ENTRY(specialise_often) {
  if (input_size != sizeof(std::uint64_t)) return ORCHID_BAD_ARGUMENTS;
  const orchid_constant constant{"answer", input, input_size};
  std::int32_t status = ORCHID_OK;
  while (status == ORCHID_OK) status = orchid_specialise(call, nullptr, &constant, 1, nullptr);
  return status;
}
/// Input: u64 first, u64 count. So many modules, one for each number.
ORCHID_ENTRY(specialise_many) {
  std::array<std::uint64_t, 2> range{};
  if (input_size != sizeof(range)) return ORCHID_BAD_ARGUMENTS;
  std::memcpy(range.data(), input, sizeof(range));
  for (std::uint64_t value = range[0]; value < range[0] + range[1]; ++value) {
    const orchid_constant constant{"answer", &value, sizeof(value)};
    if (const std::int32_t status = orchid_specialise(call, nullptr, &constant, 1, nullptr);
        status != ORCHID_OK)
      return status;
  }
  return ORCHID_OK;
}
