// SPDX-License-Identifier: Apache-2.0
// Nothing of this header is used (see gloo_names/README.md).
#pragma once
