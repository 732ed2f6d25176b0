// SPDX-License-Identifier: Apache-2.0
#include "core/engine/activations/saved_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/engine/model/chunked_loss.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using torch::Tensor;

SavedPolicy compressing(std::int64_t min_elements = 1024) { return {true, false, min_elements, {}}; }
SavedPolicy offloading() { return {false, true, 1, {}}; }

Tensor random(at::IntArrayRef shape) {
    static std::uint64_t seed = 1;
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed++);
    return at::randn(shape, generator);
}

/// What the scope gives back of `view`: the gradient of (view * w).sum() for w.
Tensor given_back(const Tensor& view, const SavedPolicy& policy) {
    const Tensor w = torch::zeros(view.sizes()).requires_grad_();
    Tensor product;
    {
        const SavedTensors scope(policy);
        product = view * w;
    }
    product.sum().backward();
    return w.grad();
}

TEST(SavedTensors, ViewsComeBackAsTheyWereUpToTheRounding) {
    const Tensor base = random({6, 40, 50});
    const double bound = 0.5 / 127 * base.abs().max().item<double>() * 1.001;
    const std::vector<std::pair<const char*, Tensor>> views{
        {"whole", base},
        {"transposed", base.transpose(0, 2)},
        {"part of the rows", base.narrow(0, 2, 3)},
        {"part of the columns", base.narrow(2, 10, 35)},
        {"every second", base.slice(1, 0, 40, 2)},
        {"expanded", base.narrow(0, 1, 1).expand({5, 40, 50})},
        {"expanded inside", base.unsqueeze(2).expand({6, 40, 3, 50})},
        {"flat", base.view({-1})}};
    for (const auto& [what, view] : views) {
        const Tensor back = given_back(view, compressing());
        EXPECT_EQ(back.sizes(), view.sizes());
        const double error = largest_difference(back, view);
        EXPECT_LE(error, bound) << what;
        EXPECT_GT(error, 0) << what << " was not compressed";
        EXPECT_EQ(largest_difference(given_back(view, offloading()), view), 0) << what;
    }
}

TEST(SavedTensors, SmallOnesIntegersAndParametersAreExact) {
    const SavedPolicy policy = compressing(1000);
    const Tensor small = random({999}), large = random({1000});
    EXPECT_EQ(largest_difference(given_back(small, policy), small), 0);
    EXPECT_GT(largest_difference(given_back(large, policy), large), 0);

    const Tensor parameter = random({40, 50}).requires_grad_(), frozen = random({40, 50});
    EXPECT_EQ(largest_difference(given_back(parameter, policy), parameter), 0);
    EXPECT_EQ(largest_difference(given_back(parameter.t(), policy), parameter.t()), 0);
    SavedPolicy naming = policy;
    naming.parameters = {frozen};
    EXPECT_GT(largest_difference(given_back(frozen, policy), frozen), 0);
    EXPECT_EQ(largest_difference(given_back(frozen, naming), frozen), 0);
    EXPECT_EQ(largest_difference(given_back(frozen.t().narrow(0, 1, 30), naming), frozen.t().narrow(0, 1, 30)), 0);

    const Tensor table = random({3000, 2}).requires_grad_(), indices = at::arange(2999, -1, -1);
    Tensor picked;
    {
        const SavedTensors scope(policy);
        picked = at::embedding(table, indices);
    }
    (picked * at::arange(3000).unsqueeze(1)).sum().backward();
    EXPECT_TRUE(torch::equal(table.grad().select(1, 0), indices.to(torch::kFloat)));
}

TEST(SavedTensors, OutputsThatTheirOwnNodeSavesWork) {
    const Tensor x = random({40, 50}).requires_grad_();
    Tensor y;
    {
        const SavedTensors scope(compressing());
        y = x.exp();
    }
    const double bound = 0.5 / 127 * y.max().item<double>() * 1.001;
    y.sum().backward();
    EXPECT_LE(largest_difference(x.grad(), y), bound);
    EXPECT_GT(largest_difference(x.grad(), y), 0);
}

TEST(SavedTensors, NothingOutlivesItsGraph) {
    for (const SavedPolicy& policy : {compressing(), compressing(1'000'000), offloading()}) {
        const Tensor x = random({40, 50}).requires_grad_();
        const SavedTensors scope(policy);
        Tensor y = x.exp();
        const auto storage = y.storage().getWeakStorageImpl();
        y.reset();
        EXPECT_TRUE(storage.expired()) << "a node that holds its own output is never freed";
    }
}

TEST(SavedTensors, MemoryThatIsUsedAgainIsNotTakenForTheOldNumbers) {
    // The same size and version each time, so that the allocator hands out the same addresses.
    std::vector<Tensor> products, weights, values;
    {
        const SavedTensors scope(compressing());
        for (int i = 0; i < 200; ++i) {
            weights.push_back(torch::zeros({2000}).requires_grad_());
            products.push_back(torch::full({2000}, i + 1.0) * weights.back());
        }
    }
    for (std::size_t i = 0; i < products.size(); ++i) {
        products[i].sum().backward();
        EXPECT_NEAR(weights[i].grad()[7].item<double>(), static_cast<double>(i) + 1, 1e-3);
    }
}

TEST(SavedTensors, ChangesInPlaceAreCaughtOrHarmless) {
    const Tensor w = torch::zeros({2000}).requires_grad_(), small_w = torch::zeros({10}).requires_grad_();
    Tensor x = torch::ones({2000}), small = torch::ones({10}), product, again, small_product;
    {
        const SavedTensors scope(compressing());
        product = x * w;
        small_product = small * small_w;
        x.fill_(5);
        small.fill_(5);
        again = x * w;
    }
    product.sum().backward();
    EXPECT_TRUE(torch::equal(w.grad(), torch::ones({2000}))) << "as it was when it was saved";
    w.mutable_grad().zero_();
    again.sum().backward();
    EXPECT_TRUE(torch::equal(w.grad(), torch::full({2000}, 5.0F))) << "another version is another tensor";
    EXPECT_THAT([&] { small_product.sum().backward(); },
                ThrowsMessage<c10::Error>(HasSubstr("modified by an inplace operation")));
}

/// Saves what it was given, undefined tensors and one twice included.
struct SavesAll : torch::autograd::Function<SavesAll> {
    static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x, const Tensor& y) {
        ctx->save_for_backward({x, Tensor(), y, x});
        return x * y;
    }
    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::tensor_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        EXPECT_FALSE(saved[1].defined());
        EXPECT_TRUE(torch::equal(saved[0], saved[3]));
        EXPECT_EQ(saved[0].requires_grad(), true);
        return {gradients[0] * saved[2], gradients[0] * saved[0]};
    }
};

TEST(SavedTensors, CustomFunctionsSaveUndefinedAndRepeatedTensors) {
    const Tensor leaf = random({2000}).requires_grad_(), y = random({2000}).requires_grad_();
    const Tensor x = leaf * 1;
    Tensor product;
    {
        const SavedTensors scope(compressing());
        product = SavesAll::apply(x, y);
    }
    product.sum().backward();
    EXPECT_TRUE(torch::equal(leaf.grad(), y)) << "a parameter";
    EXPECT_LE(largest_difference(y.grad(), x), 0.5 / 127 * x.abs().max().item<double>() * 1.001);
    EXPECT_GT(largest_difference(y.grad(), x), 0);
}

TEST(SavedTensors, OnlyThisThreadAndThisScopeAreAffected) {
    const Tensor x = random({2000});
    const SavedTensors outer(compressing());
    {
        const SavedTensors inner(SavedPolicy{});
        const Tensor w = torch::zeros({2000}).requires_grad_();
        (x * w).sum().backward();
        EXPECT_TRUE(torch::equal(w.grad(), x)) << "the inner scope counts";
    }
    const auto gradient = [&] {
        const Tensor w = torch::zeros({2000}).requires_grad_();
        (x * w).sum().backward();
        return w.grad();
    };
    EXPECT_FALSE(torch::equal(gradient(), x)) << "the outer scope is back";
    Tensor elsewhere;
    std::thread([&] { elsewhere = gradient(); }).join();
    EXPECT_TRUE(torch::equal(elsewhere, x));
}

TEST(SavedTensors, AParametersNewMemoryIsFollowedAsWithout) {
    // ZeRO 3 frees a gathered parameter after the forward pass and gathers it again for the backward pass.
    for (const SavedPolicy& policy : {SavedPolicy{}, compressing()}) {
        const Tensor x = random({40, 50}).requires_grad_(), other = random({40, 50});
        Tensor w = random({40, 50}).requires_grad_(), product;
        {
            const SavedTensors scope(policy);
            product = x * w;
        }
        w.set_data(other);
        product.sum().backward();
        EXPECT_TRUE(torch::equal(x.grad(), other)) << policy.compress;
    }
}

TEST(SavedTensors, AGraphThatIsKeptGoesBackwardTwice) {
    const Tensor w = torch::zeros({2000}).requires_grad_(), x = random({2000});
    Tensor product;
    {
        const SavedTensors scope(compressing());
        product = (x * w).sum();
    }
    product.backward({}, /*retain_graph=*/true);
    const Tensor first = w.grad().clone();
    w.mutable_grad().zero_();
    product.backward();
    EXPECT_TRUE(torch::equal(w.grad(), first));
    EXPECT_THROW(product.backward(), c10::Error);
}

TEST(SavedTensors, ChunkedLossInsideLosesNothing) {
    const Tensor hidden = random({2, 30, 40}).requires_grad_(), weight = random({50, 40}).requires_grad_();
    const Tensor targets = at::arange(60).remainder(50).view({2, 30});
    const auto gradient = [&](const SavedPolicy& policy) {
        weight.mutable_grad() = Tensor();
        Tensor loss;
        {
            const SavedTensors scope(policy);
            loss = chunked_language_model_loss(hidden, weight, targets, 4);
        }
        loss.backward();
        return weight.grad().clone();
    };
    EXPECT_TRUE(torch::equal(gradient({}), gradient(compressing(1))));
}

}  // namespace
}  // namespace plimsoll::engine
