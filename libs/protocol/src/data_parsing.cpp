// What is said about data objects, as it is read.
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data_json.h"
#include "name_list.h"
#include "protocol/data_messages.h"
#include "protocol/digest.h"
#include "protocol/limits.h"
#include "protocol/names.h"

namespace orchid {
namespace {

constexpr std::array<std::string_view, 6> data_end_names{"deleted",    "expired", "evicted",
                                                         "unfinished", "unknown", "spoiled"};
constexpr std::size_t data_secret_digits = 64;
constexpr std::size_t longest_reference = 128;
constexpr std::size_t transfer_key_digits = 32;
/// More than any host has, and so little that those of many executors can be added up.
constexpr std::uint64_t most_data_bytes = 1ULL << 50;
constexpr std::uint64_t most_data_version = 1ULL << 53;
constexpr std::uint64_t most_data_order = 1ULL << 62;
constexpr std::uint64_t most_data_time_ms = 1000ULL * 86'400 * 36'500;  // a hundred years

std::chrono::milliseconds parse_data_time(const JsonObject& f, const char* key) {
  return std::chrono::milliseconds(f.number<std::uint64_t>(key, {.most = most_data_time_ms}));
}

std::uint64_t parse_data_order(const JsonObject& f) {
  return f.number<std::uint64_t>("order", {.most = most_data_order});
}

ByteCount parse_data_bytes(const JsonObject& f, const char* key) {
  return ByteCount{f.number<std::uint64_t>(key, {.most = most_data_bytes})};
}

std::uint32_t parse_copies(const JsonObject& f) {
  const auto copies = f.number<std::uint32_t>("copies");
  if (copies < 1 || copies > limits::data_copies)
    f.fault("copies", "must be from 1 to " + std::to_string(limits::data_copies));
  return copies;
}

/// `numbered`: one with a name has a version.
DataTerms parse_data_terms(const JsonObject& f, bool numbered = true) {
  DataTerms terms;
  terms.tenant = parse_tenant(f);
  terms.bytes = parse_data_bytes(f, "bytes");
  terms.name = f.text("name");
  if (!terms.name.empty() && !check_function_name(terms.name))
    f.fault("name", "must be a letter, then letters, digits, '-' and '_', at most 64 in all");
  terms.version = f.number<std::uint64_t>("version", {.most = most_data_version});
  if (numbered && terms.version == 0 && !terms.name.empty())
    f.fault("version", "must be 1 at least");
  terms.secret = f.text("secret", data_secret_digits);
  if (terms.secret.size() != data_secret_digits)
    f.fault("secret", "must have 64 hexadecimal digits");
  if (f.has("holder_uid")) terms.holder_uid = f.number<std::uint32_t>("holder_uid");
  if (f.has("expires_in_ms")) terms.expires_in = parse_data_time(f, "expires_in_ms");
  if (f.has("copies")) terms.copies = parse_copies(f);
  if (f.has("durable")) terms.durable = f.flag("durable");
  return terms;
}

std::string parse_transfer_key(const JsonObject& f) {
  std::string key = f.text("key", transfer_key_digits);
  if (key.size() != transfer_key_digits ||
      key.find_first_not_of("0123456789abcdef") != std::string::npos)
    f.fault("key", "must have 32 hexadecimal digits");
  return key;
}

std::string parse_data_digest(const JsonObject& f) {
  constexpr std::size_t longest = 71;
  std::string digest = f.text("digest", longest);
  if (!is_digest(digest)) f.fault("digest", "must be sha256: and 64 hexadecimal digits");
  return digest;
}

/// What both ends of a transfer say of it.
template <typename Message>
Message parse_transfer(const JsonObject& f) {
  Message m;
  m.data = parse_data(f);
  m.transfer = f.number<std::uint64_t>("transfer");
  if constexpr (requires { m.key; }) m.key = parse_transfer_key(f);
  if constexpr (requires { m.address; }) m.address = f.text("address", 512);
  if constexpr (requires { m.within; }) m.within = parse_data_time(f, "within_ms");
  if constexpr (requires { m.patience; })
    if (f.has("patience_ms")) m.patience = parse_data_time(f, "patience_ms");
  if constexpr (requires { m.have; }) m.have = parse_data_bytes(f, "bytes");
  if constexpr (requires { m.code; }) {
    m.code = f.parsed("code", parse_error_code);
    m.message = f.text("message");
  }
  return m;
}

std::optional<DataMessage> parse_file_message(const JsonObject& f, std::string_view type) {
  if (type == "data_filed") return DataFiled{parse_data(f)};
  if (type == "data_not_filed")
    return DataNotFiled{parse_data(f), f.parsed("code", parse_error_code), f.text("message")};
  if (type != "file_data") return std::nullopt;
  FileData file{.data = parse_data(f)};
  if (f.has("expires_in_ms")) file.expires_in = parse_data_time(f, "expires_in_ms");
  return file;
}

std::optional<DataMessage> parse_copy_message(const JsonObject& f, std::string_view type) {
  if (type == "wish_copies") return WishCopies{parse_data(f), parse_copies(f)};
  if (type == "spare_data") return SpareData{parse_data(f)};
  if (type == "data_kept") return DataKept{parse_data(f)};
  if (type == "offer_data") return parse_transfer<OfferData>(f);
  if (type == "fetch_data") return parse_transfer<FetchData>(f);
  if (type == "receive_data") return parse_transfer<ReceiveData>(f);
  if (type == "end_data_transfer") return parse_transfer<EndDataTransfer>(f);
  if (type == "data_offered") return parse_transfer<DataOffered>(f);
  if (type == "data_not_offered") return parse_transfer<DataNotOffered>(f);
  if (type == "data_fetched") return parse_transfer<DataFetched>(f);
  if (type == "data_not_fetched") return parse_transfer<DataNotFetched>(f);
  return std::nullopt;
}

}  // namespace

std::string_view to_string(DataEnd end) { return data_end_names[static_cast<std::size_t>(end)]; }

std::optional<DataEnd> parse_data_end(std::string_view name) {
  return find_name<DataEnd>(data_end_names, name);
}

DataId parse_data(const JsonObject& f) {
  return f.parsed("data", parse_data_id, "must be the id of data");
}

LeaseTenant parse_tenant(const JsonObject& f) {
  const JsonObject tenant = f.object("tenant");
  return {.uid = tenant.number<std::uint32_t>("uid"), .name = tenant.text("name", 256)};
}

namespace {

constexpr JsonLength objects_of_a_call{.least = 1, .most = limits::data_per_executor};

PublishData parse_publish_data(const JsonObject& f) {
  PublishData offer{.question = f.number<std::uint64_t>("question")};
  for (const JsonObject& object : f.objects("objects", objects_of_a_call))
    offer.objects.push_back({parse_data(object), parse_data_terms(object, /*numbered=*/false)});
  for (const PublishData::Object& object : offer.objects)
    if (object.terms.tenant != offer.objects.front().terms.tenant)
      f.fault("objects", "must be of one tenant");
  return offer;
}

DataAccepted parse_data_accepted(const JsonObject& f) {
  DataAccepted accepted{.question = f.number<std::uint64_t>("question")};
  for (const JsonObject& object : f.objects("objects", objects_of_a_call)) {
    accepted.objects.push_back(
        {.data = parse_data(object),
         .version = object.number<std::uint64_t>("version", {.most = most_data_version}),
         .order = object.number<std::uint64_t>("order", {.most = most_data_order})});
    if (object.has("expires_in_ms"))
      accepted.objects.back().expires_in = parse_data_time(object, "expires_in_ms");
  }
  if (f.has("holder_uid")) accepted.holder_uid = f.number<std::uint32_t>("holder_uid");
  return accepted;
}

/// What calls and what lacks memory ask for, and its answers.
std::optional<DataMessage> parse_data_of_call(const JsonObject& f, std::string_view type) {
  const auto question = [&] { return f.number<std::uint64_t>("question"); };
  if (type == "find_data")
    return FindData{question(), parse_tenant(f), f.text("reference", longest_reference)};
  if (type == "publish_data") return parse_publish_data(f);
  if (type == "data_found") return DataFound{question(), parse_data(f)};
  if (type == "data_accepted") return parse_data_accepted(f);
  if (type == "data_declined")
    return DataDeclined{question(), f.parsed("code", parse_error_code), f.text("message")};
  if (type == "spare_for") return SpareFor{question(), parse_data_bytes(f, "bytes")};
  if (type == "data_spared") return DataSpared{question(), f.flag("enough")};
  return std::nullopt;
}

}  // namespace

std::optional<DataMessage> parse_data_message(const JsonObject& f, std::string_view type) {
  const auto data = [&] { return parse_data(f); };
  if (type == "make_data") {
    MakeData make{data(), parse_data_terms(f), parse_data_time(f, "write_within_ms")};
    if (f.has("created_ms_ago")) make.created_ago = parse_data_time(f, "created_ms_ago");
    return make;
  }
  if (type == "seal_data") {
    SealData seal{.data = data()};
    if (f.has("expires_in_ms")) seal.expires_in = parse_data_time(f, "expires_in_ms");
    seal.order = parse_data_order(f);
    return seal;
  }
  if (type == "drop_data") return DropData{data()};
  if (type == "data_made") return DataMade{data()};
  if (type == "data_refused")
    return DataRefused{data(), f.parsed("code", parse_error_code), f.text("message")};
  if (type == "data_sealed") return DataSealed{data(), parse_data_bytes(f, "bytes")};
  if (type == "data_dropped") return DataDropped{data(), f.parsed("reason", parse_data_end)};
  if (type == "digest_data") return DigestData{data()};
  if (type == "data_digest") return DataDigest{data(), parse_data_digest(f)};
  if (type == "data_not_digested")
    return DataNotDigested{data(), f.parsed("code", parse_error_code), f.text("message")};
  if (auto file = parse_file_message(f, type)) return file;
  if (auto copy = parse_copy_message(f, type)) return copy;
  return parse_data_of_call(f, type);
}

DataMemory parse_data_memory(const JsonObject& f) {
  const JsonObject memory = f.object("data_memory");
  return {.bytes = parse_data_bytes(memory, "bytes"), .used = parse_data_bytes(memory, "used")};
}

namespace {

DataHeld parse_one_held(const JsonObject& f) {
  return {.data = f.parsed("data", parse_data_id, "must be the id of data"),
          .terms = parse_data_terms(f),
          .created_ago = parse_data_time(f, "created_ms_ago"),
          .order = parse_data_order(f),
          .digest = f.has("digest") ? parse_data_digest(f) : std::string()};
}

}  // namespace

Result<DataHeld> parse_held_data(std::string_view text) {
  JsonDocument document(text);
  return document.finish(parse_one_held(document.root()));
}

std::vector<DataHeld> parse_data_held(const std::vector<JsonObject>& list) {
  std::vector<DataHeld> held;
  held.reserve(list.size());
  for (const JsonObject& f : list) held.push_back(parse_one_held(f));
  return held;
}

}  // namespace orchid
