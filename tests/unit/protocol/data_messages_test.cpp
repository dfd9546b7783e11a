#include "protocol/data_messages.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "protocol/control_messages.h"

namespace orchid {
namespace {

template <typename T>
T data_back(const T& message) {
  const auto parsed =
      parse_control_frame(encode({.sequence = 5, .ack = 3, .body = ControlMessage(message)}));
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
  const auto* body = std::get_if<ControlMessage>(&parsed->body);
  REQUIRE(body != nullptr);
  REQUIRE(std::holds_alternative<T>(*body));
  return std::get<T>(*body);
}

std::string data_fault_of(const ControlMessage& message) {
  const auto parsed = parse_control_frame(encode({.sequence = 1, .body = message}));
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error().code == ErrorCode::bad_request);
  return parsed.error().message;
}

DataTerms weather_terms() {
  return {.tenant = {1000, "ada"},
          .bytes = 3_GiB,
          .name = "weather-2026",
          .version = 7,
          .expires_in = std::chrono::hours(24 * 365),
          .secret = std::string(64, 'a'),
          .holder_uid = 998,
          .copies = 2};
}

TEST_CASE("an id of data is read only in its one form") {
  const DataId data = make_data_id();
  CHECK(make_data_id() != data);
  CHECK(to_string(DataId{}) == "d-" + std::string(32, '0'));
  CHECK(parse_data_id(to_string(data)) == data);
  for (const char* bad :
       {"", "d-", "d-0", "d-0000000000000000000000000000000", "d-000000000000000000000000000000000",
        "0000000000000000000000000000000000", "d-0000000000000000000000000000000A",
        "d-0000000000000000000000000000000g"})
    CHECK_FALSE(parse_data_id(bad).has_value());
}

TEST_CASE("every message about data comes back as it was") {
  const DataId data = make_data_id();
  const auto make = data_back(MakeData{data, weather_terms(), std::chrono::milliseconds(9000)});
  CHECK(make.data == data);
  CHECK(make.terms == weather_terms());
  CHECK(make.write_within.count() == 9000);
  CHECK_FALSE(make.created_ago.has_value());
  CHECK(data_back(MakeData{data, weather_terms(), {}, std::chrono::milliseconds(7)}).created_ago ==
        std::chrono::milliseconds(7));
  const auto nameless = data_back(
      MakeData{data, {.tenant = {}, .bytes = {}, .name = {}, .secret = std::string(64, '0')}, {}});
  CHECK(nameless.terms.name.empty());
  CHECK(nameless.terms.copies == 1);
  CHECK(nameless.terms.bytes == 0_B);
  CHECK_FALSE(nameless.terms.expires_in.has_value());
  CHECK_FALSE(nameless.terms.holder_uid.has_value());
  CHECK(data_back(SealData{data}).data == data);
  CHECK_FALSE(data_back(SealData{data}).expires_in.has_value());
  CHECK(data_back(SealData{data, std::chrono::milliseconds(0)}).expires_in ==
        std::chrono::milliseconds(0));
  CHECK(data_back(SealData{data, std::chrono::hours(24)}).expires_in == std::chrono::hours(24));
  CHECK(data_back(SealData{.data = data, .order = 1ULL << 40U}).order == 1ULL << 40U);
  CHECK(data_back(DropData{data}).data == data);
  CHECK(data_back(DataMade{data}).data == data);
  const auto refused = data_back(DataRefused{data, ErrorCode::no_data_memory, "full"});
  CHECK(refused.code == ErrorCode::no_data_memory);
  CHECK(refused.message == "full");
  CHECK(data_back(DataSealed{data, 17_B}).bytes == 17_B);
  for (const auto end : {DataEnd::deleted, DataEnd::expired, DataEnd::evicted, DataEnd::unfinished,
                         DataEnd::unknown})
    CHECK(data_back(DataDropped{data, end}).reason == end);
  CHECK(data_back(CapacityReport{.data_used = 5_MiB}).data_used == 5_MiB);
  CHECK_FALSE(data_back(CapacityReport{}).data_used.has_value());
}

TEST_CASE("what is said about digests comes back as it was, and a digest has one form") {
  const DataId data = make_data_id();
  const std::string digest = "sha256:" + std::string(64, 'd');
  CHECK(data_back(DigestData{data}).data == data);
  CHECK(data_back(DataDigest{data, digest}).digest == digest);
  const auto refused = data_back(DataNotDigested{data, ErrorCode::data_lost, "gone"});
  CHECK(refused.code == ErrorCode::data_lost);
  CHECK(refused.message == "gone");
  for (const std::string& bad :
       {std::string(), std::string(64, 'd'), "sha256:" + std::string(64, 'D'), digest + "d"})
    CHECK(data_fault_of(DataDigest{data, bad}).find("'digest'") != std::string::npos);
}

TEST_CASE("what is said about files comes back as it was") {
  const DataId data = make_data_id();
  CHECK(data_back(FileData{data}).data == data);
  CHECK_FALSE(data_back(FileData{data}).expires_in.has_value());
  CHECK(data_back(FileData{data, std::chrono::hours(168)}).expires_in == std::chrono::hours(168));
  CHECK(data_back(DataFiled{data}).data == data);
  const auto refused = data_back(DataNotFiled{data, ErrorCode::disk_full, "full"});
  CHECK(refused.code == ErrorCode::disk_full);
  CHECK(refused.message == "full");
}

TEST_CASE("what is said about copies comes back as it was") {
  const DataId data = make_data_id();
  const std::string key(32, 'c');
  constexpr std::uint64_t transfer = ~std::uint64_t{0};
  CHECK(data_back(WishCopies{data, 3}).copies == 3);
  CHECK(data_back(SpareFor{.question = 11, .bytes = 3_GiB}).question == 11);
  CHECK(data_back(SpareFor{.question = 11, .bytes = 3_GiB}).bytes == 3_GiB);
  CHECK(data_back(DataSpared{.question = 12, .enough = true}).question == 12);
  CHECK(data_back(DataSpared{.enough = true}).enough);
  CHECK_FALSE(data_back(DataSpared{}).enough);
  CHECK(data_back(SpareData{data}).data == data);
  CHECK(data_back(DataKept{data}).data == data);
  const auto offer = data_back(OfferData{data, transfer, key, std::chrono::milliseconds(70)});
  CHECK(offer.data == data);
  CHECK(offer.transfer == transfer);
  CHECK(offer.key == key);
  CHECK(offer.within == std::chrono::milliseconds(70));
  CHECK_FALSE(offer.patience.has_value());
  const OfferData patient{data, transfer, key, {}, std::chrono::milliseconds(90)};
  CHECK(data_back(patient).patience == std::chrono::milliseconds(90));
  const auto receive = data_back(ReceiveData{data, 4, key, std::chrono::milliseconds(80)});
  CHECK(receive.data == data);
  CHECK(receive.transfer == 4);
  CHECK(receive.key == key);
  CHECK(receive.within == std::chrono::milliseconds(80));
  const auto fetch = data_back(FetchData{data, 5, key, "[::1]:7", std::chrono::milliseconds(9)});
  CHECK(fetch.transfer == 5);
  CHECK(fetch.key == key);
  CHECK(fetch.address == "[::1]:7");
  CHECK(fetch.within == std::chrono::milliseconds(9));
  CHECK(data_back(EndDataTransfer{data, 6}).transfer == 6);
  CHECK(data_back(DataOffered{data, 7, "10.0.0.1:9"}).address == "10.0.0.1:9");
  const auto not_offered = data_back(DataNotOffered{data, 8, ErrorCode::data_lost, "gone"});
  CHECK(not_offered.transfer == 8);
  CHECK(not_offered.code == ErrorCode::data_lost);
  CHECK(not_offered.message == "gone");
  CHECK(data_back(DataFetched{data, 9}).transfer == 9);
  const auto broken = data_back(DataNotFetched{data, 10, 3_GiB, ErrorCode::unreachable, "broken"});
  CHECK(broken.transfer == 10);
  CHECK(broken.have == 3_GiB);
  CHECK(broken.code == ErrorCode::unreachable);
}

TEST_CASE("a key of a transfer has one form, and nobody wants no copy, or very many") {
  const DataId data{};
  for (const std::string& key : {std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'A'),
                                 std::string(32, 'g'), std::string()})
    CHECK(data_fault_of(OfferData{data, 1, key, {}}).find("'key'") != std::string::npos);
  for (const std::uint32_t copies : {0U, limits::data_copies + 1, ~0U})
    CHECK(data_fault_of(WishCopies{data, copies}).find("'copies'") != std::string::npos);
  MakeData make{.data = data, .terms = weather_terms(), .write_within = {}};
  make.terms.copies = 0;
  CHECK(data_fault_of(make).find("'copies'") != std::string::npos);
}

TEST_CASE("a hello tells of data memory and what is in it, or of none") {
  const std::vector<DataHeld> held{
      {.data = make_data_id(),
       .terms = weather_terms(),
       .created_ago = std::chrono::seconds(5),
       .order = 17,
       .digest = "sha256:" + std::string(64, '7')},
      {.data = make_data_id(),
       .terms = {.tenant = {}, .bytes = {}, .name = {}, .secret = std::string(64, '0')}}};
  const auto told = [](const ControlHello& hello) {
    auto parsed = parse_control_frame(encode({.body = hello}));
    REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
    return std::get<ControlHello>(parsed->body);
  };
  const auto hello =
      told({.data_memory = DataMemory{1_GiB, 3_MiB}, .data = held, .copies_data = true});
  CHECK(hello.copies_data);
  CHECK_FALSE(told({}).copies_data);
  CHECK(hello.data_memory == DataMemory{1_GiB, 3_MiB});
  CHECK(hello.data == held);
  CHECK_FALSE(told({}).data_memory.has_value());
  CHECK(told({}).data.empty());
}

TEST_CASE("a hello with as many objects as an executor may have fits into a frame") {
  DataTerms longest = weather_terms();
  longest.name = std::string(64, 'n');
  longest.tenant.name = std::string(256, 't');
  longest.tenant.uid = ~0U;
  longest.copies = limits::data_copies;
  const ControlHello hello{
      .data = std::vector<DataHeld>(
          limits::data_per_executor,
          {.terms = longest, .order = 1ULL << 62U, .digest = "sha256:" + std::string(64, 'd')})};
  CHECK(parse_control_frame(encode({.body = hello})).has_value());
}

TEST_CASE("a bad message about data names the field") {
  MakeData make{.data = {}, .terms = weather_terms(), .write_within = {}};
  make.terms.name = "no name";
  CHECK(data_fault_of(make).find("'name' must be a letter, then") != std::string::npos);
  make.terms = weather_terms();
  make.terms.secret = "short";
  CHECK(data_fault_of(make).find("'secret' must have 64") != std::string::npos);
  make.terms = weather_terms();
  make.terms.bytes = ByteCount{~std::uint64_t{0}};
  CHECK(data_fault_of(make).find("'bytes'") != std::string::npos);
  CHECK(parse_control_frame(R"({"type":"seal_data","seq":1,"ack":0,"data":"d-7"})")
            .error()
            .message.find("'data' must be the id of data") != std::string::npos);
  CHECK(parse_control_frame(
            R"({"type":"data_dropped","seq":1,"ack":0,"data":"d-00000000000000000000000000000000",)"
            R"("reason":"tired"})")
            .error()
            .message.find("'reason'") != std::string::npos);
}

TEST_CASE("what calls ask of data comes back as it was") {
  const DataId data = make_data_id();
  const auto find = data_back(FindData{4, {1000, "ada"}, "weather@3"});
  CHECK(find.question == 4);
  CHECK(find.tenant == LeaseTenant{1000, "ada"});
  CHECK(find.reference == "weather@3");
  DataTerms made = weather_terms();
  made.version = 0;
  const auto offer = data_back(PublishData{5, {{data, made}}});
  REQUIRE(offer.objects.size() == 1);
  CHECK(offer.objects[0].data == data);
  CHECK(offer.objects[0].terms == made);
  CHECK(data_back(DataFound{6, data}).data == data);
  const auto accepted = data_back(DataAccepted{
      7,
      {{.data = data, .version = 2, .order = 9, .expires_in = std::chrono::milliseconds(8)},
       {.data = make_data_id()}},
      998});
  REQUIRE(accepted.objects.size() == 2);
  CHECK(accepted.objects[0].data == data);
  CHECK(accepted.objects[0].version == 2);
  CHECK(accepted.objects[0].order == 9);
  CHECK(accepted.objects[0].expires_in == std::chrono::milliseconds(8));
  CHECK_FALSE(accepted.objects[1].expires_in.has_value());
  CHECK(accepted.holder_uid == 998);
  CHECK_FALSE(data_back(DataAccepted{7, {{.data = data}}}).holder_uid.has_value());
  const auto declined = data_back(DataDeclined{8, ErrorCode::data_elsewhere, "it is on n17"});
  CHECK(declined.question == 8);
  CHECK(declined.code == ErrorCode::data_elsewhere);
  CHECK(declined.message == "it is on n17");
}

TEST_CASE("an offer is of one tenant, and not of nothing") {
  DataTerms theirs = weather_terms();
  theirs.tenant.uid = 1001;
  CHECK(data_fault_of(PublishData{1, {}}).find("objects") != std::string::npos);
  CHECK(data_fault_of(PublishData{1, {{make_data_id(), weather_terms()}, {make_data_id(), theirs}}})
            .find("one tenant") != std::string::npos);
  CHECK(data_fault_of(DataAccepted{1, {}}).find("objects") != std::string::npos);
  CHECK(data_fault_of(FindData{1, {1, "a"}, std::string(129, 'n')}).find("reference") !=
        std::string::npos);
}

}  // namespace
}  // namespace orchid
