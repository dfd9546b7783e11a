#include "protocol/compiler_messages.h"

#include "json_fields.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

Json to_json(const CompileRequest& m) {
  return {{"type", "compile"}, {"id", m.id}, {"tier", to_string(m.tier)}};
}
Json to_json(const InspectRequest& m) { return {{"type", "inspect"}, {"id", m.id}}; }
Json to_json(const CompilerReady& m) {
  return {{"type", "ready"},        {"triple", m.triple}, {"cpu", m.cpu},
          {"features", m.features}, {"llvm", m.llvm},     {"pipeline", m.pipeline}};
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
  auto fields = JsonFields::parse(text);
  if (!fields) return fail(std::move(fields.error()));
  JsonFields& f = *fields;
  const std::string& type = f.type();
  if (type == "ready")
    return f.finish<CompilerMessage>(CompilerReady{.triple = f.text("triple"),
                                                   .cpu = f.text("cpu"),
                                                   .features = f.text("features"),
                                                   .llvm = f.text("llvm"),
                                                   .pipeline = f.text("pipeline")});
  const auto id = f.number<std::uint64_t>("id");
  if (type == "compile")
    return f.finish<CompilerMessage>(
        CompileRequest{.id = id, .tier = f.parsed("tier", parse_compile_tier)});
  if (type == "inspect") return f.finish<CompilerMessage>(InspectRequest{.id = id});
  if (type == "compiled")
    return f.finish<CompilerMessage>(CompiledCode{
        .id = id,
        .tier = f.parsed("tier", parse_compile_tier),
        .compile_us = std::chrono::microseconds(f.number<std::int64_t>("compile_us"))});
  if (type == "manifest")
    return f.finish<CompilerMessage>(
        InspectedManifest{.id = id, .manifest = dump_json(f.raw("manifest"))});
  if (type == "failed")
    return f.finish<CompilerMessage>(CompileFailed{
        .id = id, .code = f.parsed("code", parse_error_code), .message = f.text("message")});
  if (type == "rejected")
    return f.finish<CompilerMessage>(InspectRejected{
        .id = id, .code = f.parsed("code", parse_error_code), .message = f.text("message")});
  return fail(ErrorCode::bad_request, "unknown message type '" + type +
                                          "'; do both sides have the same version of Orchid?");
}

}  // namespace orchid
