// SPDX-License-Identifier: Apache-2.0
// Peaks that others measured, read from tables.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/frameworks/estimate_under.h"
#include "core/validation/csv.h"

namespace plimsoll {

enum class RankScope { Last, Fullest };

struct PeakRow {
    std::string name;        ///< "R004 Llama-3(.1)-8B" or "gpt/gpt3_mcore_te_tp2_pp2 on dev_dgx_h100"
    std::string kind;        ///< "measured", or as the table says
    std::string confidence;  ///< "high", "medium", "low"; golden peaks are high
    Framework framework = Framework::Megatron;
    Workload work;
    RankScope scope = RankScope::Last;  ///< the rank or ranks whose peak the row gives
    PeakMetric metric = PeakMetric::Allocated;
    Bytes truth = 0;
    Bytes context = 0;    ///< bytes of the CUDA context, where the row gives them
    Bytes capacity = 0;   ///< of the card; 0: not known
    std::string unknown;  ///< why the row cannot be estimated; empty: it can
    std::string unsaid;   ///< assumptions where the row is silent
};

/// Rows of a table with the columns of Megatron-LM's golden peaks (peak_alloc_bytes and the program's own flags) or of
/// published peaks (model, layers, hidden, …, peak, unit, metric). Other columns of the first kind are Megatron-LM's
/// flags as well: world-size, moe-ffn-hidden-size, … Of the second kind a column `framework` (megatron, torchtitan, hf-trainer)
/// names whose memory was measured; without it the source tells. Without a column `kind` all rows are measured. Errors name the line
/// and the column.
Result<std::vector<PeakRow>> read_peak_rows(const CsvTable& table);

/// Memory of the card that a text names ("H100 96GB HBM2e", "GB200 (184.3 GiB)", "dev_dgx_a100"); 0: unknown.
Bytes capacity_of(std::string_view card);

/// Helpers of read_peak_rows, one for each kind of table.
Result<PeakRow> megatron_row(const CsvTable& table, std::size_t row);
Result<PeakRow> published_row(const CsvTable& table, std::size_t row);

/// Flags of Megatron-LM's own test cases that the golden peaks' columns leave out (resources/megatron-test-cases.json,
/// from the model_config.yaml and recipes of its repository), by suite and case. Empty where there are none.
Json megatron_case_flags(const std::string& suite, const std::string& name);

}  // namespace plimsoll
