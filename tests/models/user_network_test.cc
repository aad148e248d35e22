// Networks from files: --fathom_network.
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "fixtures/files/file.h"
#include "fixtures/machine/shared_library.h"
#include "models/network/arguments.h"
#include "models/network/network_rows.h"
#include "models/network/network_workload.h"
#include "models/network/scalar_functions.h"
#include "models/table.h"
#include "tests/fixtures/mutations.h"
#include "tests/messages.h"
#include "tests/models/program_file.h"
#include "tests/temporary_folder.h"

namespace fathom::models {
namespace {

using namespace tests;
using c10::IValue;

const Json kNone{{"as_none", true}};

Json integer(int64_t number) { return {{"as_int", number}}; }

/// relu(linear(x)) of 4 samples of 3 values, in a layer "head.fc".
ProgramFile linear_program() {
  ProgramFile file;
  file.parameter("head.fc.weight", at::arange(6, at::kFloat).view({2, 3}) - 2);
  file.parameter("head.fc.bias", at::ones(2));
  file.input("x", at::arange(12, at::kFloat).view({4, 3}) / 4 - 1, "s0");
  file.ranges["s0"] = {{"min_val", 2}, {"max_val", 16}};
  file.call("aten.linear.default",
            {{"input", ProgramFile::value("x")},
             {"weight", ProgramFile::value("head.fc.weight")},
             {"bias", ProgramFile::value("head.fc.bias")}},
            "linear", "head.fc");
  file.call("aten.relu.default", {{"self", ProgramFile::value("linear")}}, "relu", "head");
  return file;
}

/// The same with its output.
ProgramFile inference_program() {
  ProgramFile file = linear_program();
  file.output("relu");
  return file;
}

/// The mean of the outputs, one number.
ProgramFile training_program() {
  ProgramFile file = linear_program();
  file.call("aten.mean.default", {{"self", ProgramFile::value("relu")}}, "mean");
  file.output("mean");
  return file;
}

class UserNetwork : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }

  std::unique_ptr<Network> read(const ProgramFile& file) const {
    return read_network(file.write(path("net.pt2")));
  }

  /// The message with which a network is refused.
  std::string refusal(const ProgramFile& file, const std::string& name = "net.pt2") const {
    return failure([&] { add_network({.path = file.write(path(name))}); });
  }

  TemporaryFolder folder{"user_network"};
};

TEST_F(UserNetwork, ComputesWhatItsGraphSays) {
  const auto network = read(inference_program());
  const at::Tensor x = network->inputs()[0];
  const auto outputs = network->run({x});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_TRUE(
      at::equal(outputs[0],
                at::relu(at::linear(x, at::arange(6, at::kFloat).view({2, 3}) - 2, at::ones(2)))));
}

TEST_F(UserNetwork, GivesAnOutputTwice) {
  ProgramFile file = inference_program();
  file.output("relu");
  const auto network = read(file);
  const auto outputs = network->run(network->inputs());
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_TRUE(at::equal(outputs[0], outputs[1]));
}

TEST_F(UserNetwork, GivesGradientsToItsParameters) {
  NetworkWorkload workload(read(training_program()));
  workload.loss(workload.batches({.batch = 4}).batches[0]).backward();
  const auto parameters = workload.module().named_parameters();
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_TRUE(parameters["head.fc.weight"].grad().defined());
  const at::Tensor before = parameters["head.fc.bias"].detach().clone();
  const at::Tensor gradient = parameters["head.fc.bias"].grad().clone();
  workload.update();
  EXPECT_TRUE(at::allclose(parameters["head.fc.bias"], before - 0.01 * gradient));
}

TEST_F(UserNetwork, ReadsATensorWithTwoNamesOnce) {
  ProgramFile file = inference_program();
  file.parameter("tied", at::zeros({2, 3}));
  file.config["tied"] = file.config["head.fc.weight"];
  EXPECT_EQ(read(file)->module().parameters().size(), 2U);
}

TEST_F(UserNetwork, KeepsGradientsOffInARegionWithoutThem) {
  ProgramFile file;
  file.parameter("weight", at::ones(3));
  file.input("x", at::ones({2, 3}));
  const Json product = ProgramFile::node(
      "aten.mul.Tensor",
      {{"self", ProgramFile::value("x")}, {"other", ProgramFile::value("weight")}}, "mul");
  const Json region{
      {"inputs", Json::array({ProgramFile::value("x"), ProgramFile::value("weight")})},
      {"outputs", Json::array({ProgramFile::value("mul")})},
      {"nodes", Json::array({product})}};
  file.call("higher_order.wrap_with_set_grad_enabled",
            {{"", {{"as_bool", false}}},
             {"", {{"as_graph", {{"name", "region"}, {"graph", region}}}}},
             {"", ProgramFile::value("x")},
             {"", ProgramFile::value("weight")}},
            "product");
  file.output("product");
  const auto network = read(file);
  const auto outputs = network->run(network->inputs());
  EXPECT_TRUE(at::equal(outputs[0], at::ones({2, 3})));
  EXPECT_FALSE(outputs[0].requires_grad());
}

TEST_F(UserNetwork, TakesTheBatchesOfItsExport) {
  const auto network = read(inference_program());
  EXPECT_EQ(network->batches().least, 2);
  EXPECT_EQ(network->batches().most, 16);
  ProgramFile fixed = inference_program();
  fixed.graph["tensor_values"]["x"]["sizes"][0] = integer(4);
  EXPECT_EQ(read(fixed)->batches().least, 4);
  EXPECT_EQ(read(fixed)->batches().most, 4);
}

TEST_F(UserNetwork, DrawsFurtherBatchesOfTheSameKind) {
  ProgramFile file;
  file.input("x", at::arange(8, at::kFloat).view({4, 2}), "s0");
  file.input("ids", at::arange(4) + 5, "s0");
  file.output("x");
  const NetworkWorkload workload(read(file));
  const auto set = workload.batches({.batch = 4, .count = 3, .seed = 1});
  EXPECT_TRUE(at::equal(set.batches[0][0], at::arange(8, at::kFloat).view({4, 2})));
  for (const auto& batch : set.batches) {
    EXPECT_EQ(batch[0].sum().item<float>(), 28);  // the same samples
    EXPECT_GE(batch[1].min().item<int64_t>(), 5);
    EXPECT_LE(batch[1].max().item<int64_t>(), 8);
  }
  const auto larger = workload.batches({.batch = 6}).batches[0];
  EXPECT_TRUE(at::equal(larger[0].slice(0, 4), larger[0].slice(0, 0, 2)));
  EXPECT_EQ(larger[1].size(0), 6);
}

TEST_F(UserNetwork, BecomesAWorkloadWithTheShapesOfItsOps) {
  add_network({.path = training_program().write(path("mine.pt2"))});
  const WorkloadRow& row = workload("mine");
  EXPECT_EQ(row.parameters, 8);
  EXPECT_EQ(row.macs, 6);
  EXPECT_EQ(row.batch, 4);
  EXPECT_EQ(modes(row).size(), 2U);
  EXPECT_TRUE(contains(row.shapes, R"("layer": "head_fc", "pass": "wgrad")")) << row.shapes;
  EXPECT_TRUE(contains(failure([&] { add_network({.path = path("mine.pt2")}); }),
                       "\"mine\" is the name of other rows; rename the file"));
}

TEST_F(UserNetwork, RunsAScript) {
  torch::jit::Module script("Net");
  script.register_parameter("weight", at::ones({3}).requires_grad_(), /*is_buffer=*/false);
  script.define(
      "def forward(self, xs: List[Tensor], flag: bool):\n"
      "  return {'loss': (xs[0] * self.weight).sum()}\n");
  script.save(path("script.pt"));
  const auto arguments = c10::ivalue::Tuple::create(
      {c10::impl::toList(c10::List<at::Tensor>({at::ones({2, 3})})), true});
  NetworkWorkload workload(read_network(path("script.pt"), arguments));
  const at::Tensor loss = workload.loss(workload.batches({.batch = 2}).batches[0]);
  EXPECT_EQ(loss.item<float>(), 6);
  loss.backward();
  EXPECT_TRUE(at::equal(workload.module().named_parameters()["weight"].grad(), at::ones(3) * 2));
}

TEST_F(UserNetwork, RefusesAScriptWithoutInputs) {
  torch::jit::Module script("Net");
  script.define("def forward(self, x):\n  return x\n");
  script.save(path("script.pt"));
  EXPECT_TRUE(contains(failure([&] { add_network({.path = path("script.pt")}); }),
                       "holds no inputs that can be read here, expected them in an option, as in "
                       "--fathom_network_inputs=float32:8x3x224x224"));
}

/// A change of inference_program() and a part of the message about it.
struct Refusal {
  const char* name;
  std::function<void(ProgramFile&)> change;
  const char* message;
};

class RefusedNetwork : public UserNetwork, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedNetwork, IsNamedInOneLine) {
  ProgramFile file = inference_program();
  GetParam().change(file);
  const std::string message = refusal(file);
  EXPECT_TRUE(message.starts_with(path("net.pt2") + ": ")) << message;
  EXPECT_TRUE(contains(message, GetParam().message)) << message;
  EXPECT_FALSE(contains(message, "\n")) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Networks, RefusedNetwork,
    testing::Values(
        Refusal{"ANewerArchive", [](ProgramFile& file) { file.archive_version = "1"; },
                "an archive of version 1, expected 0"},
        Refusal{
            "operator",
            [](ProgramFile& f) { f.graph["nodes"][0]["target"] = "torch.ops.vision.nms.default"; },
            "node node (vision.nms.default, layer head.fc): no operator vision::nms is "
            "registered, expected one of LibTorch"},
        Refusal{"python", [](ProgramFile& f) { f.graph["nodes"][1]["target"] = "builtins.print"; },
                "node node (builtins.print, layer head): a call of Python's builtins.print"},
        Refusal{
            "higher_order",
            [](ProgramFile& f) { f.graph["nodes"][1]["target"] = "torch.ops.higher_order.cond"; },
            "the higher-order operator cond cannot be run here"},
        Refusal{"custom_class",
                [](ProgramFile& f) {
                  f.graph["nodes"][0]["inputs"][2]["arg"] = {
                      {"as_custom_obj", {{"name", "obj"}, {"class_fqn", "Queue"}}}};
                },
                "layer head.fc): an argument is of the kind as_custom_obj"},
        Refusal{"missing_argument", [](ProgramFile& f) { f.graph["nodes"][0]["inputs"].erase(1); },
                "the argument weight is missing"},
        Refusal{"unknown_argument",
                [](ProgramFile& f) { f.graph["nodes"][0]["inputs"][2]["name"] = "biass"; },
                "the operator has no argument biass"},
        Refusal{"undefined_value",
                [](ProgramFile& f) {
                  f.graph["nodes"][1]["inputs"][0]["arg"] = ProgramFile::value("later");
                },
                "no node before it gives later"},
        Refusal{"failing_call",
                [](ProgramFile& f) {
                  f.call("aten.view.default",
                         {{"self", ProgramFile::value("relu")}, {"size", {{"as_ints", {5, 7}}}}},
                         "view", "tail");
                },
                "node node (aten.view.default, layer tail): shape '[5, 7]' is invalid"},
        Refusal{"missing_weight", [](ProgramFile& f) { f.config.erase("head.fc.bias"); },
                "the file has no tensor head.fc.bias"},
        Refusal{"large_weight",
                [](ProgramFile& f) {
                  f.config["head.fc.bias"]["tensor_meta"]["sizes"][0] = integer(3);
                },
                "the tensor head.fc.bias is larger than its data, which have 2 elements"},
        Refusal{"unknown_type",
                [](ProgramFile& f) { f.config["head.fc.bias"]["tensor_meta"]["dtype"] = 99; },
                "scalar type 99 is unknown"},
        Refusal{"other_weight_type",
                [](ProgramFile& f) { f.config["head.fc.bias"]["tensor_meta"]["dtype"] = 5; },
                "the tensor head.fc.bias is larger than its data, which have 1 element"},
        Refusal{"input_type", [](ProgramFile& f) { f.graph["tensor_values"]["x"]["dtype"] = 5; },
                "input x: found Float 4x3, expected Long ?x3"},
        Refusal{"newer_schema", [](ProgramFile& f) { f.schema = 9; },
                "schema version 9 of PyTorch 2.11.0, expected 8"},
        Refusal{"two_models",
                [](ProgramFile& f) {
                  f.models = {"a", "b"};
                },
                "holds 2 models (a, b), expected one"},
        Refusal{"no_output",
                [](ProgramFile& f) {
                  f.graph["outputs"] = Json::array({integer(3)});
                  f.inputs["output_specs"][0] = {{"user_output", {{"arg", integer(3)}}}};
                },
                "the network returns no tensor"},
        Refusal{"changes_a_buffer",
                [](ProgramFile& f) {
                  f.buffer("head.count", at::zeros(1));
                  f.call("aten.add_.Tensor",
                         {{"self", ProgramFile::value("head.count")}, {"other", integer(1)}},
                         "count");
                },
                "its inference changes its buffer head.count; export it after net.eval()"},
        Refusal{"changes_an_input",
                [](ProgramFile& f) {
                  f.call("aten.relu_.default", {{"self", ProgramFile::value("x")}}, "changed");
                },
                "its inference changes its input 1;"},
        Refusal{"random",
                [](ProgramFile& f) {
                  f.call("aten.dropout.default",
                         {{"input", ProgramFile::value("relu")},
                          {"p", {{"as_float", 0.5}}},
                          {"train", {{"as_bool", true}}}},
                         "dropout");
                  f.graph["outputs"][0] = ProgramFile::value("dropout");
                },
                "two inferences of the same inputs differ; export it after net.eval()"}),
    [](const auto& row) { return row.param.name; });

/// A package as AOTInductor writes it, with the library of compiled_network.cc.
struct Package {
  Json metadata{{"AOTI_DEVICE_KEY", "cpu"}, {"AOTI_CPU_ISA", "AVX2"}};
  std::string source = {};  ///< of its kernels
  std::vector<std::string> models{"model"};

  std::string write(const std::filesystem::path& path) const {
    const Bytes code =
        fixtures::read_file(fixtures::beside_program("compiled_network.so").string(), 1 << 24);
    const std::string description = metadata.dump();
    caffe2::serialize::PyTorchStreamWriter archive(path.string());
    for (const auto& model : models) {
      const std::string stem = "data/aotinductor/" + model + "/net.wrapper";
      archive.writeRecord(stem + ".so", code.data(), code.size());
      archive.writeRecord(stem + ".cpp", source.data(), source.size());
      archive.writeRecord(stem + "_metadata.json", description.data(), description.size());
    }
    archive.writeEndOfFile();
    return path.string();
  }
};

TEST_F(UserNetwork, RunsACompiledOneWithTheInputsOfTheExportedOne) {
  add_network({.path = inference_program().write(path("pair.pt2"))});
  std::filesystem::create_directory(path("compiled"));
  add_network({.path = Package().write(path("compiled/pair.pt2"))});
  const WorkloadRow& before = workload("pair");
  const WorkloadRow& row = workloads().back();
  ASSERT_TRUE(row.compiled.has_value());
  EXPECT_EQ(row.name, "pair");
  EXPECT_EQ(row.compiled->of, &before);
  EXPECT_EQ(row.parameters, before.parameters);
  EXPECT_EQ(row.batches.most, 16);
  EXPECT_EQ(modes(row), std::vector{Mode::kInfer});
  const auto network = before.make(Scale::kFull);
  const auto compiled = row.make(Scale::kFull);
  const auto batch = network->batches({.batch = 6}).batches[0];
  EXPECT_TRUE(at::equal(compiled->batches({.batch = 6}).batches[0][0], batch[0]));
  EXPECT_TRUE(at::equal(compiled->infer(batch), network->infer(batch)));
}

TEST_F(UserNetwork, HasTheThreadsOfTheCompiledSource) {
  const auto threads = [&](const std::string& name, const std::string& source) {
    const Package package{.source = source};
    add_network({.path = package.write(path(name)), .arguments = "float32:4x3"});
    return workloads().back().compiled->threads;
  };
  EXPECT_EQ(threads("any.pt2", "#pragma omp parallel\n"), 0);
  EXPECT_EQ(threads("two.pt2", "#pragma omp parallel num_threads(2)\n"), 2);
}

/// The content of a file.
Bytes content_of(const std::string& path) { return fixtures::read_file(path, 1 << 20); }

TEST_F(UserNetwork, RefusesDamagedCode) {
  const Bytes whole = content_of(Package().write(path("code.pt2")));
  const auto refusal = [&](const Bytes& damaged) {
    folder.write("code.pt2", damaged);
    return failure([&] { add_network({.path = path("code.pt2"), .arguments = "float32:4x3"}); });
  };
  Bytes flipped = whole;
  flipped[whole.size() / 2] ^= 1;  // of the library, nearly all of the file
  EXPECT_TRUE(contains(refusal(flipped), "net.wrapper.so: its bytes have CRC "));
  fixtures::Random random(5);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(contains(refusal(mutated(whole, random)), "\n"));
}

TEST_F(UserNetwork, RefusesCompiledOnesThatCannotRunHere) {
  const auto refusal = [&](const Package& package, const std::string& inputs = "float32:4x3") {
    return failure(
        [&] { add_network({.path = package.write(path("refused.pt2")), .arguments = inputs}); });
  };
  EXPECT_TRUE(contains(refusal({}, ""), "holds no inputs that can be read here"));
  EXPECT_TRUE(
      contains(refusal({}, "float32:4x5"), "unmatched dim value at 1, expected: 3, but got: 5"));
  EXPECT_TRUE(contains(refusal({}, "float32:4x3,float32:4"), "found 2 inputs, expected 1"));
  EXPECT_TRUE(contains(refusal({.models = {"a", "b"}}),
                       "holds 2 compiled models, expected one: compile each to its own file"));
  EXPECT_TRUE(contains(refusal({.metadata = {{"AOTI_DEVICE_KEY", 3}}}),
                       "expected what AOTInductor writes"));
  EXPECT_TRUE(contains(refusal({.metadata = {{"AOTI_DEVICE_KEY", "xpu"}}}),
                       "compiled for \"xpu\", expected cpu or cuda"));
  EXPECT_TRUE(
      contains(refusal({.metadata = {{"AOTI_DEVICE_KEY", "cpu"}, {"AOTI_CPU_ISA", "AVX2 FMA4"}}}),
               "compiled with FMA4, which this CPU does not have"));
}

TEST_F(UserNetwork, RefusesFilesOfOtherKinds) {
  const auto read = [&](const std::string& name) {
    return failure([&] { add_network({.path = path(name)}); });
  };
  EXPECT_TRUE(contains(read("absent.pt2"), "absent.pt2: does not exist"));
  folder.write("text.pt2", std::string("no zip"));
  EXPECT_TRUE(contains(read("text.pt2"), "text.pt2: not a whole zip archive ("));
  const auto pickle = torch::jit::pickle_save(at::ones(2));
  std::ofstream(path("tensor.pt"), std::ios::binary)
      .write(pickle.data(), static_cast<std::streamsize>(pickle.size()));
  EXPECT_TRUE(
      contains(read("tensor.pt"), "holds what torch.save wrote, which only Python can run"));
  EXPECT_TRUE(contains(failure([&] { network_name("nets/ResNet-18.pt2"); }),
                       "\"ResNet-18\" is no name of a workload, expected lower-case letters"));
  EXPECT_TRUE(contains(failure([&] { network_name("vgg.pt2"); }), "is the name of other rows"));
}

TEST_F(UserNetwork, ReadsOrRefusesDamagedGraphs) {
  const ProgramFile file = training_program();
  const std::string whole = file.document().dump();
  int number = 0;
  const auto refusal = [&](const Bytes& damaged) {
    const std::string path = this->path("damaged_graph" + std::to_string(number++) + ".pt2");
    file.write(path, std::string(damaged.begin(), damaged.end()));
    std::string message = failure([&] { add_network({.path = path}); });
    std::filesystem::remove(path);
    return message;
  };
  expect_read_or_refused({whole.begin(), whole.end()}, 400, path("damaged_graph"), refusal);
}

TEST_F(UserNetwork, ReadsOrRefusesDamagedFiles) {
  torch::jit::Module script("Net");
  script.define("def forward(self, x):\n  return torch.relu(x)\n");
  script.save(path("script.pt"));
  training_program().write(path("program.pt2"));
  for (const std::string name : {"script.pt", "program.pt2"}) {
    int number = 0;
    const auto refusal = [&](const Bytes& damaged) {
      const std::string path =
          folder.write("damaged_" + std::to_string(number++) + name, damaged).string();
      std::string message = failure([&] {
        add_network({.path = path, .arguments = name == "script.pt" ? "float32:2x3" : ""});
      });
      std::filesystem::remove(path);
      return message;
    };
    expect_read_or_refused(content_of(path(name)), 200, path("damaged_"), refusal);
  }
}

TEST_F(UserNetwork, ReadsDescribedInputs) {
  const auto tensors = [](const std::string& text) {
    return read_arguments(text).toTupleRef().elements();
  };
  const auto drawn = tensors("float32:2x3,int64:50:7,bool:4");
  ASSERT_EQ(drawn.size(), 3U);
  EXPECT_EQ(drawn[0].toTensor().sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(drawn[1].toTensor().max().item<int64_t>(), 6);
  EXPECT_EQ(drawn[2].toTensor().scalar_type(), at::kBool);
  const std::vector<std::pair<std::string, std::string>> refused{
      {"float32:2x0", "sizes are \"2x0\""},
      {"int64:3", "has no bound"},
      {"float32:3:5", "a bound is for integers"},
      {"float32:3,complex:2", "\"complex:2\": no such type"},
      {"float32:100000x100000x1000", "an input of the network"},
      {path("absent.pt"), "does not exist"}};
  for (const auto& [text, message] : refused)
    EXPECT_TRUE(contains(failure([&] { read_arguments(text); }), message)) << text;
}

TEST(ScalarFunctions, DivideAsPython) {
  const auto result = [](const char* name, std::vector<IValue> stack) {
    scalar_function(name)(stack);
    return stack.back();
  };
  EXPECT_EQ(result("_operator.floordiv", {-7, 2}).toInt(), -4);
  EXPECT_EQ(result("_operator.mod", {-7, 2}).toInt(), 1);
  EXPECT_EQ(result("_operator.mod", {7, -2}).toInt(), -1);
  EXPECT_EQ(result("_operator.truediv", {7, 2}).toDouble(), 3.5);
  EXPECT_EQ(result("_operator.pow", {3, 4}).toInt(), 81);
  EXPECT_EQ(result("math.ceil", {2.25}).toInt(), 3);
  EXPECT_TRUE(result("_operator.lt", {1, 2.5}).toBool());
  EXPECT_EQ(result("torch.sym_max", {3, 9}).toInt(), 9);
  EXPECT_THROW(result("_operator.floordiv", {1, 0}), std::runtime_error);
}

}  // namespace
}  // namespace fathom::models
