#include "models/network/serialized_types.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace fathom::models {
namespace {

template <typename Type>
Type find(const std::map<int, Type>& types, const char* what, const nlohmann::json& number) {
  const auto found = types.find(number.get<int>());
  if (found != types.end()) return found->second;
  throw std::runtime_error(std::string(what) + ' ' + number.dump() + " is unknown");
}

}  // namespace

at::ScalarType scalar_type(const nlohmann::json& number) {
  static const std::map<int, at::ScalarType> types{
      {1, at::kByte},
      {2, at::kChar},
      {3, at::kShort},
      {4, at::kInt},
      {5, at::kLong},
      {6, at::kHalf},
      {7, at::kFloat},
      {8, at::kDouble},
      {9, at::kComplexHalf},
      {10, at::kComplexFloat},
      {11, at::kComplexDouble},
      {12, at::kBool},
      {13, at::kBFloat16},
      {28, at::ScalarType::UInt16},
      {29, at::kFloat8_e4m3fn},
      {30, at::kFloat8_e5m2},
      {31, at::kFloat8_e4m3fnuz},
      {32, at::kFloat8_e5m2fnuz},
      {33, at::kFloat8_e8m0fnu},
      {34, at::ScalarType::UInt32},
      {35, at::ScalarType::UInt64},
  };
  return find(types, "scalar type", number);
}

at::Layout layout(const nlohmann::json& number) {
  static const std::map<int, at::Layout> types{
      {1, at::kSparse},    {2, at::kSparseCsr}, {3, at::kSparseCsc}, {4, at::kSparseBsr},
      {5, at::kSparseBsc}, {6, at::kMkldnn},    {7, at::kStrided}};
  return find(types, "layout", number);
}

at::MemoryFormat memory_format(const nlohmann::json& number) {
  static const std::map<int, at::MemoryFormat> types{{1, at::MemoryFormat::Contiguous},
                                                     {2, at::MemoryFormat::ChannelsLast},
                                                     {3, at::MemoryFormat::ChannelsLast3d},
                                                     {4, at::MemoryFormat::Preserve}};
  return find(types, "memory format", number);
}

at::Device device(const nlohmann::json& record) {
  const std::string type = record.at("type").get<std::string>();
  const auto index = record.find("index");
  if (index == record.end() || index->is_null()) return at::Device(type);
  return at::Device(type + ':' + std::to_string(index->get<int>()));
}

double real(const nlohmann::json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto& text = value.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  throw std::runtime_error('"' + text + "\" is not a number");
}

std::vector<int64_t> fixed_sizes(const nlohmann::json& sizes) {
  std::vector<int64_t> fixed;
  for (const auto& size : sizes) fixed.push_back(size.at("as_int").get<int64_t>());
  return fixed;
}

}  // namespace fathom::models
