/* JSON (RFC 8259) from texts that are not trusted. Included by ncz_plugin.h only.
 *
 * A text is checked as a whole by `nczp_is_object`; the functions after it read objects that were. No memory is
 * allocated. */
#ifndef NCZ_PLUGIN_JSON_H
#define NCZ_PLUGIN_JSON_H

/* Deeper nesting is refused. */
enum { NCZP_DEPTH_MAX = 64 };

typedef struct nczp_span {
    const char *at, *end;
} nczp_span;

static inline bool nczp_starts(nczp_span in, char wanted) { return in.at < in.end && *in.at == wanted; }

static inline void nczp_blanks(nczp_span *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) in->at++;
}

static inline bool nczp_take(nczp_span *in, char wanted) {
    nczp_blanks(in);
    if (!nczp_starts(*in, wanted)) return false;
    in->at++;
    return true;
}

static inline bool nczp_is_digit(nczp_span in) { return in.at < in.end && *in.at >= '0' && *in.at <= '9'; }

static inline bool nczp_digits(nczp_span *in) {
    const char *start = in->at;
    while (nczp_is_digit(*in)) in->at++;
    return in->at > start;
}

static inline bool nczp_number(nczp_span *in) {
    if (nczp_starts(*in, '-')) in->at++;
    if (nczp_starts(*in, '0')) in->at++; /* no digit may follow */
    else if (!nczp_digits(in)) return false;
    if (nczp_starts(*in, '.')) {
        in->at++;
        if (!nczp_digits(in)) return false;
    }
    if (nczp_starts(*in, 'e') || nczp_starts(*in, 'E')) {
        in->at++;
        if (nczp_starts(*in, '+') || nczp_starts(*in, '-')) in->at++;
        return nczp_digits(in);
    }
    return true;
}

static inline bool nczp_word(nczp_span *in, const char *wanted) {
    size_t len = strlen(wanted);
    if ((size_t)(in->end - in->at) < len || memcmp(in->at, wanted, len)) return false;
    in->at += len;
    return true;
}

/* Four hexadecimal digits, or -1. */
static inline long nczp_hex4(nczp_span *in) {
    long code = 0;
    for (int i = 0; i < 4; i++, in->at++) {
        int c = in->at < in->end ? *in->at : 0, letter = c | 0x20; /* in lower case */
        if (c >= '0' && c <= '9') code = code * 16 + (c - '0');
        else if (letter >= 'a' && letter <= 'f') code = code * 16 + (letter - 'a' + 10);
        else return -1;
    }
    return code;
}

/* The bytes of the UTF-8 character at the start, or 0. */
static inline size_t nczp_character(nczp_span in) {
    const uint8_t *s = (const uint8_t *)in.at;
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (len > (size_t)(in.end - in.at)) return 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    /* longer than need be, halves of UTF-16 pairs, after U+10FFFF */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

/* Skips an escape after its backslash. The character, 0xff if it is not one of ASCII, or -1. */
static inline int nczp_escape(nczp_span *in) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    for (int i = 0; letters[i]; i++) {
        if (!nczp_starts(*in, letters[i])) continue;
        in->at++;
        return meant[i];
    }
    if (!nczp_word(in, "u")) return -1;
    long code = nczp_hex4(in);
    if (code >= 0xd800 && code < 0xdc00) { /* the first half of a pair */
        if (!nczp_word(in, "\\u")) return -1;
        long low = nczp_hex4(in);
        return low >= 0xdc00 && low < 0xe000 ? 0xff : -1;
    }
    if (code < 0 || (code >= 0xdc00 && code < 0xe000)) return -1;
    return code == 0 || code > 0x7f ? 0xff : (int)code;
}

/* Skips a string. `*is_wanted`: whether it is this text, of ASCII. */
static inline bool nczp_string(nczp_span *in, const char *wanted, bool *is_wanted) {
    if (!nczp_take(in, '"')) return false;
    while (in->at < in->end && *in->at != '"') {
        size_t bytes = nczp_character(*in);
        int code = (unsigned char)*in->at;
        if (!bytes || code < 0x20) return false;
        in->at += bytes;
        if (code == '\\' && (code = nczp_escape(in)) < 0) return false;
        if (wanted) wanted = bytes == 1 && code == (unsigned char)*wanted ? wanted + 1 : NULL;
    }
    *is_wanted = wanted && !*wanted;
    return nczp_take(in, '"');
}

static inline bool nczp_value(nczp_span *in, int depth) {
    bool unused;
    if (depth > NCZP_DEPTH_MAX) return false;
    if (nczp_take(in, '{')) {
        if (nczp_take(in, '}')) return true;
        do {
            if (!nczp_string(in, NULL, &unused) || !nczp_take(in, ':') || !nczp_value(in, depth + 1)) return false;
        } while (nczp_take(in, ','));
        return nczp_take(in, '}');
    }
    if (nczp_take(in, '[')) {
        if (nczp_take(in, ']')) return true;
        do {
            if (!nczp_value(in, depth + 1)) return false;
        } while (nczp_take(in, ','));
        return nczp_take(in, ']');
    }
    if (nczp_starts(*in, '"')) return nczp_string(in, NULL, &unused);
    return nczp_word(in, "null") || nczp_word(in, "true") || nczp_word(in, "false") || nczp_number(in);
}

/* Whether a text is a JSON object and nothing else. */
static inline bool nczp_is_object(nczp_span text) {
    nczp_span in = text;
    if (!text.at || !nczp_take(&in, '{')) return false;
    in = text;
    if (!nczp_value(&in, 0)) return false;
    nczp_blanks(&in);
    return in.at == in.end;
}

/* The next value after a '[', '{', ':' or ','. */
static inline bool nczp_next_value(nczp_span *in, nczp_span *found) {
    nczp_blanks(in);
    found->at = in->at;
    if (!nczp_value(in, 0)) return false;
    found->end = in->at;
    return true;
}

/* Goes through the members of an object: `in` is the object at first. The key has its quotes. */
static inline bool nczp_next_member(nczp_span *in, nczp_span *key, nczp_span *found) {
    if (!nczp_take(in, '{') && !nczp_take(in, ',')) return false;
    return nczp_next_value(in, key) && nczp_take(in, ':') && nczp_next_value(in, found);
}

/* Goes through the values of an array: `in` is the array at first. */
static inline bool nczp_next_item(nczp_span *in, nczp_span *found) {
    return (nczp_take(in, '[') || nczp_take(in, ',')) && nczp_next_value(in, found);
}

/* Whether a value is the string `wanted`. */
static inline bool nczp_is(nczp_span value, const char *wanted) {
    bool is_wanted;
    return value.at && nczp_string(&value, wanted, &is_wanted) && is_wanted;
}

/* The value of a key, the last if there are several. Its `at` is null if there is none, or if `object` is none. */
static inline nczp_span nczp_member(nczp_span object, const char *wanted) {
    nczp_span in = object, key, found, last = {NULL, NULL};
    while (in.at && nczp_next_member(&in, &key, &found)) {
        if (nczp_is(key, wanted)) last = found;
    }
    return last;
}

/* Reads an integer that is not negative. */
static inline bool nczp_length(nczp_span text, uint64_t *out) {
    *out = 0;
    if (!text.at || text.at == text.end) return false;
    for (; nczp_is_digit(text); text.at++) {
        unsigned digit = (unsigned)(*text.at - '0');
        if (*out > (UINT64_MAX - digit) / 10) return false;
        *out = *out * 10 + digit;
    }
    return text.at == text.end;
}

static inline bool nczp_integer(nczp_span text, int64_t *out) {
    uint64_t magnitude;
    bool is_negative = text.at && nczp_starts(text, '-');
    if (is_negative) text.at++;
    if (!nczp_length(text, &magnitude) || magnitude > INT64_MAX) return false;
    *out = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

#endif
