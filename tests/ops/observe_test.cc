#include "ops/profiler/observe.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace fathom::ops {
namespace {

using Names = std::vector<std::string>;

/// Lists the scopes and the nodes of their gradients. It suppresses nothing by itself.
class Listed final : public Observer {
 public:
  bool start(const Event& event) override {
    if (event.what == Event::What::kScope) scopes.emplace_back(event.call.name);
    if (event.what == Event::What::kNode && event.scope >= 0) nodes.emplace_back(event.call.name);
    return false;
  }
  void nested(const ObservedCall& call) override { inside.emplace_back(call.name); }

  Names scopes;
  Names nodes;
  Names inside;
};

TEST(Observe, TakesAScopeInsideAnotherOneAsPartOfIt) {
  const at::Tensor x = at::ones({3}).requires_grad_();
  Listed listed;
  const auto work = [&] {
    at::Tensor y;
    {
      RECORD_USER_SCOPE("op:lstm_cell");  // both begin before the first node
      {
        RECORD_USER_SCOPE("op:clip_norm");
        y = x.exp();
      }
      y = y.sin();
    }
    y.sum().backward();
  };
  observe(listed, work, /*arguments=*/false);
  EXPECT_EQ(listed.scopes, Names{"op:lstm_cell"});
  EXPECT_EQ(listed.nodes, (Names{"op:lstm_cell", "op:lstm_cell"}));  // of sin and exp
  EXPECT_EQ(listed.inside[0], "op:clip_norm");
}

TEST(Observe, GivesNodesToTheScopeThatCreatedThemAfterOneThatCreatedNone) {
  const at::Tensor x = at::ones({3}).requires_grad_();
  Listed listed;
  const auto work = [&] {
    { RECORD_USER_SCOPE("op:clip_norm"); }
    at::Tensor y;
    {
      RECORD_USER_SCOPE("op:lstm_cell");  // at the same sequence number
      y = x.exp();
    }
    y.sum().backward();
  };
  observe(listed, work, /*arguments=*/false);
  EXPECT_EQ(listed.scopes, (Names{"op:clip_norm", "op:lstm_cell"}));
  EXPECT_EQ(listed.nodes, Names{"op:lstm_cell"});
}

/// Each thread numbers its nodes from 0.
TEST(Observe, TellsTheNodesOfThreadsApart) {
  Listed listed;
  const auto work = [&] {
    at::Tensor other;
    std::thread([&] { other = at::ones({3}).requires_grad_().exp().sum(); }).join();
    at::Tensor y;
    {
      RECORD_USER_SCOPE("op:lstm_cell");
      const at::Tensor x = at::ones({3}).requires_grad_();
      for (int i = 0; i < 20; ++i) y = x.exp();
    }
    other.backward();
  };
  std::thread([&] { observe(listed, work, /*arguments=*/false); }).join();
  EXPECT_EQ(listed.nodes, Names());
}

TEST(Observe, GivesNestedObserversTheSameEvents) {
  Listed outer;
  Listed inner;
  const auto scope = [] { RECORD_USER_SCOPE("op:lstm_cell"); };
  const auto work = [&] {
    observe(inner, scope, /*arguments=*/false);
    scope();
  };
  observe(outer, work, /*arguments=*/false);
  EXPECT_EQ(inner.scopes, Names{"op:lstm_cell"});
  EXPECT_EQ(outer.scopes, (Names{"op:lstm_cell", "op:lstm_cell"}));
}

}  // namespace
}  // namespace fathom::ops
