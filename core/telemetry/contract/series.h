// SPDX-License-Identifier: Apache-2.0
// The series that a run records: each one's name and unit.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace plimsoll {

namespace series {
inline constexpr const char* loss = "loss";                        ///< nats a token, over the global batch
inline constexpr const char* validation_loss = "validation_loss";  ///< nats a token
inline constexpr const char* router_loss = "router_loss";          ///< what routers of experts add to the loss
inline constexpr const char* z_loss = "z_loss";                    ///< what the z-loss adds to it
inline constexpr const char* lr = "lr";
inline constexpr const char* loss_scale = "loss_scale";
inline constexpr const char* grad_norm = "grad_norm";                  ///< before clipping
inline constexpr const char* tokens_per_second = "tokens_per_second";  ///< all ranks
inline constexpr const char* step_time = "step_time";                  ///< of the recording rank, as all that follow
inline constexpr const char* data_time = "data_time";                  ///< of it to cut batches from the corpus
inline constexpr const char* wait_time = "wait_time";                  ///< of it in calls that other ranks take part in
inline constexpr const char* memory = "memory";                        ///< now
inline constexpr const char* memory_peak = "memory_peak";              ///< of the run so far
inline constexpr const char* memory_step_peak = "memory_step_peak";    ///< of the step alone, on CPUs
inline constexpr const char* noise_scale = "noise_scale";              ///< of the gradients
/// Norms by layer are "grad_norm/LAYER".
inline constexpr const char* layer_norm_prefix = "grad_norm/";
}  // namespace series

struct SeriesFacts {
    std::string_view name;
    std::string_view unit;
};

inline constexpr std::array all_series{
    SeriesFacts{series::loss, ""},
    SeriesFacts{series::validation_loss, ""},
    SeriesFacts{series::router_loss, ""},
    SeriesFacts{series::z_loss, ""},
    SeriesFacts{series::lr, ""},
    SeriesFacts{series::loss_scale, ""},
    SeriesFacts{series::grad_norm, ""},
    SeriesFacts{series::tokens_per_second, "tokens/s"},
    SeriesFacts{series::step_time, "s"},
    SeriesFacts{series::data_time, "s"},
    SeriesFacts{series::wait_time, "s"},
    SeriesFacts{series::memory, "B"},
    SeriesFacts{series::memory_peak, "B"},
    SeriesFacts{series::memory_step_peak, "B"},
    SeriesFacts{series::noise_scale, "tokens"},
};

/// "s", "B", "tokens/s", "" by the name, which may be any.
std::string unit_of(std::string_view series_name);
/// Whether a run records series of this name ("loss", "grad_norm/embed").
bool is_series(std::string_view name);

}  // namespace plimsoll
