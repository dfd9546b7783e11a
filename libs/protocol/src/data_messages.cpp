#include "protocol/data_messages.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "data_json.h"

namespace orchid {
namespace {

using Json = nlohmann::json;

Json with_data_id(std::string_view type, const DataId& data) {
  return {{"type", type}, {"data", to_string(data)}};
}

void describe_data(Json& json, const DataTerms& terms) {
  json["tenant"] = to_json(terms.tenant);
  json["bytes"] = terms.bytes.value;
  json["name"] = terms.name;
  json["version"] = terms.version;
  json["secret"] = terms.secret;
  if (terms.holder_uid) json["holder_uid"] = *terms.holder_uid;
  if (terms.copies != 1) json["copies"] = terms.copies;
  if (terms.durable) json["durable"] = true;
  if (terms.expires_in) json["expires_in_ms"] = terms.expires_in->count();
}

template <typename Message>
Json of_transfer(std::string_view type, const Message& m) {
  Json json = with_data_id(type, m.data);
  json["transfer"] = m.transfer;
  return json;
}

template <typename Message>
Json with_reason(Json json, const Message& m) {
  json["code"] = to_string(m.code);
  json["message"] = m.message;
  return json;
}

struct DataEncoder {
  Json operator()(const MakeData& m) const {
    Json json = with_data_id("make_data", m.data);
    describe_data(json, m.terms);
    json["write_within_ms"] = m.write_within.count();
    if (m.created_ago) json["created_ms_ago"] = m.created_ago->count();
    return json;
  }
  Json operator()(const SealData& m) const {
    Json json = with_data_id("seal_data", m.data);
    if (m.expires_in) json["expires_in_ms"] = m.expires_in->count();
    json["order"] = m.order;
    return json;
  }
  Json operator()(const DropData& m) const { return with_data_id("drop_data", m.data); }
  Json operator()(const DataMade& m) const { return with_data_id("data_made", m.data); }
  Json operator()(const DataRefused& m) const {
    return with_reason(with_data_id("data_refused", m.data), m);
  }
  Json operator()(const WishCopies& m) const {
    Json json = with_data_id("wish_copies", m.data);
    json["copies"] = m.copies;
    return json;
  }
  Json operator()(const SpareData& m) const { return with_data_id("spare_data", m.data); }
  Json operator()(const OfferData& m) const {
    Json json = of_transfer("offer_data", m);
    json["key"] = m.key;
    json["within_ms"] = m.within.count();
    if (m.patience) json["patience_ms"] = m.patience->count();
    return json;
  }
  Json operator()(const ReceiveData& m) const {
    Json json = of_transfer("receive_data", m);
    json["key"] = m.key;
    json["within_ms"] = m.within.count();
    return json;
  }
  Json operator()(const FetchData& m) const {
    Json json = of_transfer("fetch_data", m);
    json["key"] = m.key;
    json["address"] = m.address;
    json["within_ms"] = m.within.count();
    return json;
  }
  Json operator()(const EndDataTransfer& m) const { return of_transfer("end_data_transfer", m); }
  Json operator()(const DataOffered& m) const {
    Json json = of_transfer("data_offered", m);
    json["address"] = m.address;
    return json;
  }
  Json operator()(const DataNotOffered& m) const {
    return with_reason(of_transfer("data_not_offered", m), m);
  }
  Json operator()(const DataFetched& m) const { return of_transfer("data_fetched", m); }
  Json operator()(const DataNotFetched& m) const {
    Json json = with_reason(of_transfer("data_not_fetched", m), m);
    json["bytes"] = m.have.value;
    return json;
  }
  Json operator()(const DataSealed& m) const {
    Json json = with_data_id("data_sealed", m.data);
    json["bytes"] = m.bytes.value;
    return json;
  }
  Json operator()(const DataDropped& m) const {
    Json json = with_data_id("data_dropped", m.data);
    json["reason"] = to_string(m.reason);
    return json;
  }
  Json operator()(const DataKept& m) const { return with_data_id("data_kept", m.data); }
  Json operator()(const DigestData& m) const { return with_data_id("digest_data", m.data); }
  Json operator()(const DataDigest& m) const {
    Json json = with_data_id("data_digest", m.data);
    json["digest"] = m.digest;
    return json;
  }
  Json operator()(const DataNotDigested& m) const {
    return with_reason(with_data_id("data_not_digested", m.data), m);
  }
  Json operator()(const FileData& m) const {
    Json json = with_data_id("file_data", m.data);
    if (m.expires_in) json["expires_in_ms"] = m.expires_in->count();
    return json;
  }
  Json operator()(const DataFiled& m) const { return with_data_id("data_filed", m.data); }
  Json operator()(const DataNotFiled& m) const {
    return with_reason(with_data_id("data_not_filed", m.data), m);
  }
  Json operator()(const FindData& m) const {
    return {{"type", "find_data"},
            {"question", m.question},
            {"tenant", to_json(m.tenant)},
            {"reference", m.reference}};
  }
  Json operator()(const PublishData& m) const {
    Json list = Json::array();
    for (const PublishData::Object& object : m.objects) {
      Json json{{"data", to_string(object.data)}};
      describe_data(json, object.terms);
      list.push_back(std::move(json));
    }
    return {{"type", "publish_data"}, {"question", m.question}, {"objects", std::move(list)}};
  }
  Json operator()(const DataFound& m) const {
    return {{"type", "data_found"}, {"question", m.question}, {"data", to_string(m.data)}};
  }
  Json operator()(const DataAccepted& m) const {
    Json list = Json::array();
    for (const DataAccepted::Object& object : m.objects) {
      Json json{
          {"data", to_string(object.data)}, {"version", object.version}, {"order", object.order}};
      if (object.expires_in) json["expires_in_ms"] = object.expires_in->count();
      list.push_back(std::move(json));
    }
    Json json{{"type", "data_accepted"}, {"question", m.question}, {"objects", std::move(list)}};
    if (m.holder_uid) json["holder_uid"] = *m.holder_uid;
    return json;
  }
  Json operator()(const DataDeclined& m) const {
    return {{"type", "data_declined"},
            {"question", m.question},
            {"code", to_string(m.code)},
            {"message", m.message}};
  }
  Json operator()(const SpareFor& m) const {
    return {{"type", "spare_for"}, {"question", m.question}, {"bytes", m.bytes.value}};
  }
  Json operator()(const DataSpared& m) const {
    return {{"type", "data_spared"}, {"question", m.question}, {"enough", m.enough}};
  }
};

Json to_json(const DataHeld& held) {
  Json json{{"data", to_string(held.data)},
            {"created_ms_ago", held.created_ago.count()},
            {"order", held.order}};
  describe_data(json, held.terms);
  if (!held.digest.empty()) json["digest"] = held.digest;
  return json;
}

}  // namespace

Json to_json(const LeaseTenant& tenant) { return {{"uid", tenant.uid}, {"name", tenant.name}}; }

Json to_json(const DataMessage& message) { return std::visit(DataEncoder{}, message); }

Json to_json(const DataMemory& memory) {
  return {{"bytes", memory.bytes.value}, {"used", memory.used.value}};
}

std::string encode(const DataHeld& held) { return to_json(held).dump(); }

Json to_json(const std::vector<DataHeld>& held) {
  Json list = Json::array();
  for (const DataHeld& one : held) list.push_back(to_json(one));
  return list;
}

}  // namespace orchid
