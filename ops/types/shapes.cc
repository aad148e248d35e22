#include "ops/types/shapes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "fixtures/files/file.h"
#include "ops/core/field_reader.h"
#include "ops/types/embedded_shapes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

constexpr const char* kGradientBuckets = "gradient_buckets";

/// Refuses a field that an object has twice, of which nlohmann-json keeps the last.
nlohmann::json parsed(std::string_view text, const std::string& place) {
  std::vector<std::set<std::string>> fields;  // of the open objects
  const auto refuse_second = [&](int /*depth*/, auto event, const nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) fields.emplace_back();
    if (event == Event::object_end) fields.pop_back();
    if (event == Event::key && !fields.back().insert(value).second)
      throw ShapeError(place + ": an object has " + value.dump() + " twice, expected it once");
    return true;
  };
  try {
    return nlohmann::json::parse(text, refuse_second);
  } catch (const nlohmann::json::exception& error) {
    throw ShapeError(place + ": not JSON: " + error.what());
  }
}

ShapeRow parse_row(const nlohmann::json& json, const std::string& workload,
                   const std::string& place) {
  FieldReader fields(json, place);
  ShapeRow row;
  row.type = &op_types()[fields.choice("op", op_type_names())];
  row.workload = workload;
  row.layer = fields.name_part("layer");
  row.pass = static_cast<Pass>(fields.choice("pass", kPassNames));
  if (std::find(row.type->passes.begin(), row.type->passes.end(), row.pass) ==
      row.type->passes.end()) {
    fields.fail('"' + std::string(row.type->name) + "\" has no pass \"" +
                std::string(ops::name(row.pass)) + '"');
  }
  const auto calls = [&](const char* field) {
    int64_t number = 0;
    if (fields.has(field)) fields.extent(field, number);
    return number;
  };
  row.count = calls("count");
  row.infer_count = calls("infer_count");
  if (row.count + row.infer_count == 0) fields.fail("\"count\" is missing");
  const auto counts = std::ssize(fields.row());  // fields of the row, not of the op
  row.op = row.type->make(fields, row.pass);
  fields.done();
  row.fields.assign(fields.row().begin() + counts, fields.row().end());
  return row;
}

}  // namespace

std::string ShapeRow::name() const {
  std::string joined = "op";
  for (const std::string_view part :
       {type->name, std::string_view(workload), std::string_view(layer), ops::name(pass)}) {
    joined.append("/").append(part);
  }
  return joined;
}

std::string ShapeRow::key() const { return shape_key(*type, {pass, fields}); }

std::string shape_key(const OpType& type, const MatchedOp& op) {
  std::string key(type.name);
  return key.append("/").append(ops::name(op.pass)).append("/").append(json_text(op.fields));
}

std::optional<ShapeRow> with_uneven_experts(const ShapeRow& row) {
  ShapeRow uneven = row;
  const auto routing = std::ranges::find(uneven.fields, "routing", &FieldRow::value_type::first);
  if (routing == uneven.fields.end() || routing->second != FieldValue(std::string("uniform")))
    return {};
  routing->second = std::string("zipf");
  uneven.layer += "_zipf";
  uneven.count = uneven.infer_count = 0;
  FieldLoader fields(uneven.fields);
  uneven.op = row.type->make(fields, row.pass);
  return uneven;
}

std::unique_ptr<Op> parse_op(const OpType& type, Pass pass, std::string_view fields) {
  const std::string place(type.name);
  const nlohmann::json row = parsed(fields, place);
  FieldReader reader(row, place);
  auto op = type.make(reader, pass);
  reader.done();
  return op;
}

std::vector<ShapeRow> parse_shapes(std::string_view text, const std::string& path) {
  const nlohmann::json document = parsed(text, path);
  FieldReader file(document, path);
  const std::string workload = file.name_part("workload");
  if (file.has(kGradientBuckets)) file.list(kGradientBuckets);  // no op
  const auto& rows = file.list("rows");
  file.done();
  std::vector<ShapeRow> parsed;
  std::set<std::string> names;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string place = path + ": rows[" + std::to_string(i) + "]";
    parsed.push_back(parse_row(rows[i], workload, place));
    if (!names.insert(parsed.back().name()).second) {
      throw ShapeError(place + ": a second " + parsed.back().name() +
                       ", expected one row per name");
    }
  }
  return parsed;
}

std::vector<ShapeRow> read_shapes(const std::string& path) {
  const auto fail = [&](const std::string& found) {
    throw ShapeError(path + ": " + found + ", expected a shapes file");
  };
  if (const auto why = fixtures::read_error(path); !why.empty())
    fail("cannot be read (" + why + ")");
  const std::string text = fixtures::text_of_file(path);
  if (text.empty()) fail("is empty");
  std::vector<ShapeRow> rows = parse_shapes(text, path);
  if (!rows.empty() && !embedded_text(rows[0].workload).empty()) {
    throw ShapeError(path + ": \"workload\" is \"" + rows[0].workload +
                     "\", whose shapes are built in; expected another name");
  }
  return rows;
}

std::string_view embedded_text(std::string_view workload) {
  const std::string path = "ops/shapes/" + std::string(workload) + ".json";
  for (const auto& [file, text] : kEmbeddedShapes) {
    if (file == path) return text;
  }
  return {};
}

std::vector<int64_t> gradient_buckets(std::string_view text) {
  if (text.empty()) return {};
  return nlohmann::json::parse(text).value(kGradientBuckets, std::vector<int64_t>{});
}

}  // namespace fathom::ops
