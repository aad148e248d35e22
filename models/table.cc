#include "models/table.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace fathom::models {
namespace {

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace

const std::vector<WorkloadRow>& workloads() {
  static const std::vector<WorkloadRow> rows{
      {.name = "vgg",
       .paper = "VGG-19, Simonyan & Zisserman 2014, configuration E",
       .dataset = "ImageNet",
       .batch = 8,
       .parameters = 143'667'240,
       .macs = 19'632'062'464,
       .optimizer = "SGD 0.01, momentum 0.9, weight decay 5e-4",
       .make = make_vgg},
  };
  return rows;
}

const WorkloadRow& workload(std::string_view name) {
  const auto& rows = workloads();
  const auto match =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  if (match == rows.end()) throw std::out_of_range("no workload is called " + std::string(name));
  return *match;
}

std::string workloads_markdown() {
  std::ostringstream table;
  table << "| workload | paper | data set | batch | parameters | MACs, forward, a sample | "
           "optimizer |\n"
        << "|---|---|---|--:|--:|--:|---|\n";
  for (const auto& row : workloads()) {
    table << "| " << row.name << " | " << row.paper << " | " << row.dataset << " | " << row.batch
          << " | " << grouped(row.parameters) << " | " << grouped(row.macs) << " | "
          << row.optimizer << " |\n";
  }
  return table.str();
}

}  // namespace fathom::models
