#include "density/pictures/exif.h"

#include <string.h>

static unsigned get16(const unsigned char *p, int big) {
  return big ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}

static size_t get32(const unsigned char *p, int big) {
  size_t first = get16(p, big), second = get16(p + 2, big);
  return big ? first << 16 | second : second << 16 | first;
}

/* The first value of an entry. The standard asks for SHORT here; some writers use LONG. */
static size_t get_value(const unsigned char *entry, int big) {
  enum { BYTE = 1, LONG = 4, SBYTE = 6, SLONG = 9 };
  const unsigned type = get16(entry + 2, big);
  if (type == LONG || type == SLONG) return get32(entry + 8, big);
  return type == BYTE || type == SBYTE ? entry[8] : get16(entry + 8, big);
}

int cvtm_exif_orientation(const unsigned char *data, size_t size) {
  enum { TAG_ORIENTATION = 0x0112, ENTRY_SIZE = 12 };
  if (size >= 6 && memcmp(data, "Exif\0\0", 6) == 0) {
    data += 6;
    size -= 6;
  }
  if (size < 8 || (memcmp(data, "II", 2) != 0 && memcmp(data, "MM", 2) != 0)) return 1;
  int big = data[0] == 'M';
  size_t directory = get32(data + 4, big);
  if (directory > size - 2) return 1;
  size_t entries = get16(data + directory, big);
  for (size_t i = 0; i < entries; ++i) {
    size_t entry = directory + 2 + i * ENTRY_SIZE;
    if (entry + ENTRY_SIZE > size) return 1;
    if (get16(data + entry, big) != TAG_ORIENTATION) continue;
    const size_t value = get_value(data + entry, big);
    return value <= 8 ? (int)value : 1;
  }
  return 1;
}
