// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/unicode.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace plimsoll {
namespace {

TEST(Utf8, GoodTextStaysAndBadBytesBecomeReplacementCharacters) {
    const std::string good = "plain ü € 𝄞 \xEF\xBF\xBF";
    EXPECT_EQ(valid_text(good), good);
    const std::string r = "\xEF\xBF\xBD";
    EXPECT_EQ(valid_text("a\xFFz"), "a" + r + "z");
    EXPECT_EQ(valid_text("\x80\xBF"), r + r);
    EXPECT_EQ(valid_text("\xC0\xAF"), r + r);                  // overlong
    EXPECT_EQ(valid_text("\xED\xA0\x80"), r + r + r);          // a surrogate
    EXPECT_EQ(valid_text("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
    EXPECT_EQ(valid_text("\xE2\x82"), r);                      // cut short at the end
    EXPECT_EQ(valid_text("\xE2\x82z"), r + "z");
    // Unicode 15, table 3-11.
    EXPECT_EQ(valid_text("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
    std::string every;
    for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
    EXPECT_TRUE(valid_utf8(valid_text(every)));
}

TEST(Utf8, ReplacedPartsAreCounted) {
    std::int64_t replaced = 0;
    EXPECT_EQ(valid_text("a\xFF\xE2\x82z", &replaced), "a\uFFFD\uFFFDz");
    EXPECT_EQ(replaced, 2);
}

TEST(Unicode, CharactersAreClassedAsTheTokenizersLibraryDoes) {
    // Without the rule for a sigma at the end of a word.
    EXPECT_EQ(lower_case("İSTANBUL ΑΣ ẞ"), "i\u0307stanbul ασ ß");
    EXPECT_TRUE(is_space(0x85) && is_space(0x3000) && !is_space(0x200B) && !is_space(0x180E));
    EXPECT_TRUE(is_control(0xAD) && is_control(0xE123) && !is_control('\n') && !is_control(0x100123));
    EXPECT_TRUE(is_word(0x301) && is_word('_') && is_word(0x200D) && !is_word('-'));
    EXPECT_EQ(grapheme_end("\u1112\u1161\u11ABx", 0), 9U);
    EXPECT_EQ(normal_form("\u212B", NormalForm::Nfd), "A\u030A");
    EXPECT_EQ(normal_form("\uFB01", NormalForm::Nfkc), "fi");
}

}  // namespace
}  // namespace plimsoll
