// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_import.h"
#include "core/interop/deepspeed/facts/relaxed_json.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"
#include "core/plan/presets.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = fuzz::text_of(data, size);
    fuzz::expect_sentence_or_result(lint_deepspeed(text, "input", DeepSpeedLaunch()));
    static const Plan base = plan_preset("cpu-demo").value();
    const auto read = parse_relaxed_json(text, "input");
    fuzz::expect_sentence_or_result(read);
    if (read) fuzz::expect_sentence_or_result(import_deepspeed(read->json, base, "input"));
    return 0;
}
