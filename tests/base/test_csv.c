/* Tables of numbers: fields, comments, byte order marks. */
#include "testing.h"

#include "base/text.h"

/* The fields of the first line, each in brackets. */
static const char *fields_of(const char *text, size_t *at) {
  static char joined[256];
  cvtm_csv_line line = cvtm_csv_take_line(text, strlen(text), at);
  cvtm_csv_field field;
  joined[0] = '\0';
  while (cvtm_csv_next_field(&line, &field)) {
    strcat(joined, "[");
    strncat(joined, field.text, field.length);
    strcat(joined, "]");
  }
  return joined;
}

TEST(test_fields) {
  static const struct {
    const char *text, *fields;
    size_t next;
  } cases[] = {
      {"1,2\n3", "[1][2]", 4},
      {" 1 , 2\t,3 \r\n", "[1][2][3]", 12},
      {"1 2\t3", "[1][2][3]", 5},
      {"1,5;2,5", "[1,5][2,5]", 7},
      {"1,,2", "[1][][2]", 4},
      {",1", "[][1]", 2},
      {"1,2 # 3;4\n", "[1][2]", 10},
      {"# all\n1", "", 6},
      {" \t\n", "", 3},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    size_t at = 0;
    assert_string_equal(fields_of(cases[k].text, &at), cases[k].fields);
    assert_int_equal(at, cases[k].next);
  }
}

TEST(test_comment_and_byte_order_mark) {
  size_t at = 0;
  assert_true(cvtm_csv_take_line("#\n", 2, &at).has_comment);
  assert_false(cvtm_csv_take_line("#\n\n", 3, &at).has_comment);
  assert_int_equal(cvtm_csv_byte_order_mark("\xef\xbb\xbfx", 4), 3);
  assert_int_equal(cvtm_csv_byte_order_mark("\xef\xbb", 2), 0);
  assert_int_equal(cvtm_csv_byte_order_mark("x,y", 3), 0);
}

TEST_MAIN()
