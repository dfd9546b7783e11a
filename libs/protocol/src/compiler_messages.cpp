#include "protocol/compiler_messages.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "foundation/json_document.h"
#include "protocol/constants.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

Json to_json(const CompileRequest& m) {
  Json json{{"type", "compile"}, {"id", m.id}, {"tier", to_string(m.tier)}};
  if (!m.gpu.empty()) json["gpu"] = m.gpu;
  if (!m.constants.empty()) json["constants"] = m.constants;
  return json;
}
Json to_json(const InspectRequest& m) { return {{"type", "inspect"}, {"id", m.id}}; }
Json to_json(const CompilerReady& m) {
  return {{"type", "ready"},        {"triple", m.triple}, {"cpu", m.cpu},
          {"features", m.features}, {"llvm", m.llvm},     {"pipeline", m.pipeline}};
}
Json to_json(const CompileStarted& m) {
  return {{"type", "compiling"},
          {"id", m.id},
          {"functions", m.functions},
          {"branches", m.branches},
          {"most_branches", m.most_branches}};
}
Json to_json(const CompiledCode& m) {
  return {{"type", "compiled"},
          {"id", m.id},
          {"tier", to_string(m.tier)},
          {"compile_us", m.compile_us.count()}};
}
Json to_json(const CompileFailed& m) {
  return {{"type", "failed"}, {"id", m.id}, {"code", to_string(m.code)}, {"message", m.message}};
}
Json to_json(const InspectedManifest& m) {
  return {
      {"type", "manifest"}, {"id", m.id}, {"manifest", Json::parse(m.manifest, nullptr, false)}};
}
Json to_json(const InspectRejected& m) {
  return {{"type", "rejected"}, {"id", m.id}, {"code", to_string(m.code)}, {"message", m.message}};
}

CompilerMessage read_compiler_message(const JsonObject& f, std::string_view type) {
  if (type == "ready")
    return CompilerReady{.triple = f.text("triple"),
                         .cpu = f.text("cpu"),
                         .features = f.text("features"),
                         .llvm = f.text("llvm"),
                         .pipeline = f.text("pipeline")};
  const auto id = f.number<std::uint64_t>("id");
  if (type == "compile")
    return CompileRequest{
        .id = id,
        .tier = f.parsed("tier", parse_compile_tier),
        .gpu = f.has("gpu") ? f.text("gpu", 32) : std::string(),
        .constants = f.has("constants") ? f.text("constants", longest_constants) : std::string()};
  if (type == "inspect") return InspectRequest{.id = id};
  if (type == "compiling")
    return CompileStarted{.id = id,
                          .functions = f.number<std::uint64_t>("functions"),
                          .branches = f.number<std::uint64_t>("branches"),
                          .most_branches = f.number<std::uint64_t>("most_branches")};
  if (type == "compiled")
    return CompiledCode{
        .id = id,
        .tier = f.parsed("tier", parse_compile_tier),
        .compile_us = std::chrono::microseconds(f.number<std::int64_t>("compile_us"))};
  if (type == "manifest")
    return InspectedManifest{.id = id, .manifest = f.object("manifest").dump()};
  if (type == "failed")
    return CompileFailed{
        .id = id, .code = f.parsed("code", parse_error_code), .message = f.text("message")};
  if (type == "rejected")
    return InspectRejected{
        .id = id, .code = f.parsed("code", parse_error_code), .message = f.text("message")};
  f.fault("type", "is unknown; do both sides have the same version of Orchid?");
  return {};
}

}  // namespace

std::string_view to_string(CompileTier tier) { return tier == CompileTier::quick ? "quick" : "o3"; }

std::optional<CompileTier> parse_compile_tier(std::string_view name) {
  if (name == "quick") return CompileTier::quick;
  if (name == "o3") return CompileTier::o3;
  return std::nullopt;
}

std::string encode(const CompilerMessage& message) {
  return dump_json(std::visit([](const auto& m) { return to_json(m); }, message));
}

Result<CompilerMessage> parse_compiler_message(std::string_view text) {
  JsonDocument document(text, {.subject = "the message"});
  const std::string type = document.type();
  return document.finish(read_compiler_message(document.root(), type));
}

}  // namespace orchid
