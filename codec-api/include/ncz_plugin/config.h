/* The configuration of a codec: one word for each key, from words and JSON and back. Included by ncz_plugin.h only. */
#ifndef NCZ_PLUGIN_CONFIG_H
#define NCZ_PLUGIN_CONFIG_H

static inline size_t nczp_key_count(const ncz_codec *codec) {
    size_t count = 0;
    while (count < NCZ_KEYS_MAX && codec->keys[count].name) count++;
    return count;
}

static inline bool nczp_in_limits(const ncz_key *key, int64_t value) {
    return value >= key->least && value <= key->greatest;
}

/* Whether the value stands for one that depends on the chunk. */
static inline bool nczp_is_open(const ncz_key *key, int64_t value) {
    return value == key->if_absent && !nczp_in_limits(key, value);
}

static inline int64_t nczp_value_of(const ncz_key *key, uint32_t word) {
    bool has_sign = key->least < 0 || key->if_absent < 0;
    return has_sign && word > INT32_MAX ? (int64_t)word - ((int64_t)1 << 32) : (int64_t)word;
}

static inline int32_t nczp_fail_limits(ncz_error *error, const ncz_key *key, const char *name, size_t name_len,
                                       bool may_be_open) {
    char text[160];
    int len = snprintf(text, sizeof text, "expected an integer from %lld to %lld", (long long)key->least,
                       (long long)key->greatest);
    if (may_be_open && nczp_is_open(key, key->if_absent))
        snprintf(text + len, sizeof text - (size_t)len, ", or %lld if it depends on the chunk",
                 (long long)key->if_absent);
    return nczp_fail_at(error, NCZ_ERROR_CONFIG, name, name_len, text);
}

/* Checks words: those that a codec runs with have all values, others may leave some open. */
static inline int32_t nczp_check_words(const ncz_codec *codec, const uint32_t *words, bool may_be_open,
                                       ncz_error *error) {
    for (size_t i = 0; i < nczp_key_count(codec); i++) {
        const ncz_key *key = &codec->keys[i];
        int64_t value = nczp_value_of(key, words[i]);
        if (nczp_in_limits(key, value) || (may_be_open && nczp_is_open(key, value))) continue;
        char name[32];
        int len = snprintf(name, sizeof name, "cd_values[%d]", (int)i);
        return nczp_fail_limits(error, key, name, (size_t)len, may_be_open);
    }
    return NCZ_OK;
}

static inline void nczp_fill_absent(const ncz_codec *codec, size_t from, uint32_t *words) {
    for (size_t i = from; i < NCZ_KEYS_MAX; i++) words[i] = (uint32_t)codec->keys[i].if_absent;
}

/* Reads words as a user gives them or a file has them. There can be fewer than there are keys. */
static inline int32_t nczp_of_words(const ncz_codec *codec, const uint32_t *given, size_t count, bool may_be_open,
                                    uint32_t *words, ncz_error *error) {
    char text[64];
    if (count > nczp_key_count(codec) || (count && !given)) {
        snprintf(text, sizeof text, "expected at most %d words, got %llu", (int)nczp_key_count(codec),
                 (unsigned long long)count);
        return nczp_fail_at(error, NCZ_ERROR_CONFIG, "cd_values", 9, text);
    }
    if (count) memcpy(words, given, count * sizeof *words);
    nczp_fill_absent(codec, count, words);
    return nczp_check_words(codec, words, may_be_open, error);
}

/* Lets the codec compute words from its chunk. */
static inline int32_t nczp_localize(const ncz_codec *codec, const ncz_chunk *chunk, uint32_t *words,
                                    ncz_error *error) {
    if (!chunk->element_size) return ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "elements of 0 bytes, which hold no data");
    if (codec->set_local) {
        int32_t status = codec->set_local(chunk, words, error);
        if (status) return status;
    }
    return nczp_check_words(codec, words, false, error);
}

static inline void nczp_put(const ncz_sink *sink, const char *text, size_t len) {
    if (sink && sink->write) sink->write(sink->context, text, len);
}

static inline void nczp_put_text(const ncz_sink *sink, const char *text) { nczp_put(sink, text, strlen(text)); }

/* Writes a string of JSON. */
static inline void nczp_put_string(const ncz_sink *sink, const char *text) {
    nczp_put(sink, "\"", 1);
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        char escape[8];
        bool is_plain = c >= 0x20 && c != '"' && c != '\\';
        if (!is_plain) snprintf(escape, sizeof escape, "\\u%04x", c);
        nczp_put(sink, is_plain ? text : escape, is_plain ? 1 : 6);
    }
    nczp_put(sink, "\"", 1);
}

static inline void nczp_put_number(const ncz_sink *sink, int64_t value) {
    char text[24];
    nczp_put(sink, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

/* Writes the configuration as NCZarr does: blanks after colons and commas; `id` may be null. */
static inline void nczp_put_config(const ncz_codec *codec, const uint32_t *words, const char *id,
                                   const ncz_sink *sink) {
    const char *before = "{";
    if (id) {
        nczp_put_text(sink, "{\"id\": ");
        nczp_put_string(sink, id);
        before = ", ";
    }
    for (size_t i = 0; i < nczp_key_count(codec); i++) {
        nczp_put_text(sink, before);
        nczp_put_string(sink, codec->keys[i].name);
        nczp_put_text(sink, ": ");
        nczp_put_number(sink, nczp_value_of(&codec->keys[i], words[i]));
        before = ", ";
    }
    nczp_put_text(sink, *before == '{' ? "{}" : "}");
}

static inline void nczp_put_words(const ncz_codec *codec, const uint32_t *words, const ncz_sink *sink) {
    nczp_put_text(sink, "[");
    for (size_t i = 0; i < nczp_key_count(codec); i++) {
        if (i) nczp_put_text(sink, ", ");
        nczp_put_number(sink, words[i]);
    }
    nczp_put_text(sink, "]");
}

static inline int32_t nczp_check_dialect(const ncz_codec *codec, uint32_t dialect, ncz_error *error) {
    if (dialect == NCZ_NUMCODECS || (dialect == NCZ_ZARR_V3 && codec->zarr_v3)) return NCZ_OK;
    return ncz_fail(error, NCZ_ERROR_UNSUPPORTED,
                    dialect == NCZ_ZARR_V3 ? "the codec has no name in Zarr version 3" : "an unknown dialect of JSON");
}

/* Reads JSON. `has_id`: the name of the codec is among the keys, as in NCZarr. */
static inline int32_t nczp_of_json(const ncz_codec *codec, nczp_span text, uint32_t dialect, bool has_id,
                                   const ncz_sink *notes, uint32_t *words, ncz_error *error) {
    nczp_span in = text, raw, found;
    int32_t status = nczp_check_dialect(codec, dialect, error);
    if (status) return status;
    if (!nczp_is_object(text))
        return ncz_fail(error, NCZ_ERROR_UNSUPPORTED, "not a JSON object, or nested too deeply");
    nczp_fill_absent(codec, 0, words);
    while (nczp_next_member(&in, &raw, &found)) {
        size_t i = 0, count = nczp_key_count(codec);
        while (i < count && !nczp_is(raw, codec->keys[i].name)) i++;
        if (i < count) {
            const ncz_key *key = &codec->keys[i];
            int64_t value = key->if_absent;
            bool is_null = nczp_starts(found, 'n'); /* as if absent */
            if (dialect == NCZ_NUMCODECS && *found.at == '"') found.at++, found.end--; /* netcdf-c before 4.10 */
            if (!is_null && (!nczp_integer(found, &value) || !(nczp_in_limits(key, value) || nczp_is_open(key, value))))
                return nczp_fail_limits(error, key, key->name, strlen(key->name), true);
            words[i] = (uint32_t)value;
        } else if (has_id && nczp_is(raw, "id")) {
            /* read below */
        } else if (dialect == NCZ_ZARR_V3) {
            return nczp_fail_at(error, NCZ_ERROR_CONFIG, raw.at + 1, (size_t)(raw.end - raw.at) - 2,
                                "the codec has no such key");
        } else {
            nczp_put_text(notes, "unknown key ");
            nczp_put(notes, raw.at, (size_t)(raw.end - raw.at));
            nczp_put_text(notes, " is ignored\n");
        }
    }
    if (has_id && !nczp_is(nczp_member(text, "id"), codec->name))
        return nczp_fail_at(error, NCZ_ERROR_CONFIG, "id", 2, "another codec, or none");
    return NCZ_OK;
}

#endif
