// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets/input.h"

#include "core/base/json.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/peft_config.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto json = parse_json(fuzz::text_of(data, size), "input");
    if (!json) return 0;
    fuzz::expect_sentence_or_result(model_from_hf_config(*json, "input"));
    fuzz::expect_sentence_or_result(adapter_from_peft(*json, "input"));
    return 0;
}
