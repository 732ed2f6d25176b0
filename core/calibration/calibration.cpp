// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/calibration.h"
#include "core/run/run_store.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

namespace {
constexpr std::size_t most_runs = 200;
}

Bytes Calibration::applied_to(Bytes estimated) const {
    return static_cast<Bytes>(std::llround(median * static_cast<double>(estimated)));
}

Calibration calibration_of(const std::string& device, const std::filesystem::path& store) {
    std::vector<double> ratios;
    auto runs = list_runs(store);
    if (runs.size() > most_runs) runs.resize(most_runs, runs.front());
    for (const auto& run : runs)
        if (const auto record = read_peak(run); record && record->device == device) ratios.push_back(record->ratio());
    Calibration calibration;
    if (ratios.empty()) return calibration;
    std::sort(ratios.begin(), ratios.end());
    calibration.samples = static_cast<int>(ratios.size());
    const auto middle = ratios.size() / 2;
    calibration.median = ratios.size() % 2 == 1 ? ratios[middle] : (ratios[middle - 1] + ratios[middle]) / 2;
    calibration.low = ratios.front();
    calibration.high = ratios.back();
    return calibration;
}

}  // namespace plimsoll
