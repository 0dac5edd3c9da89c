"""A reader of small JSON objects whose keys are known: requests that clients send to the engine.

    json_begin(&json, chars, length, outbox)
    while json_key(&json, &key):
        if text_is(key, b"batch", 5):
            batch = json_int(&json)
        else:
            json_skip(&json)
    is_good = json_end(&json)

What is wrong stops it for good (`has_failed`), and every reader returns nothing from then on. `null` is as if the key were not there.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memchr, memcmp, memcpy

from framework_jetstream.engine._outbox cimport outbox_chars

cdef enum:
    DEPTH_MAX = 64
    INT_DIGITS_MAX = 18


cdef void _blanks(Json* json) noexcept nogil:
    while json.at < json.end and (json.at[0] == b" " or 9 <= json.at[0] <= 13):
        json.at += 1


cdef bint _take(Json* json, char char) noexcept nogil:
    """Take one character, behind blanks; False: it is another one."""
    _blanks(json)
    if json.at < json.end and json.at[0] == char:
        json.at += 1
        return True
    return False


cdef bint _take_word(Json* json, const char* word, size_t length) noexcept nogil:
    _blanks(json)
    if <size_t> (json.end - json.at) >= length and memcmp(json.at, word, length) == 0:
        json.at += length
        return True
    return False


cdef bint json_begin(Json* json, const char* chars, size_t length, Outbox* outbox) noexcept nogil:
    """Begin an object; False: it is none."""
    json.at = chars
    json.end = chars + length
    json.outbox = outbox
    json.has_failed = not _take(json, c"{")
    return not json.has_failed


cdef bint json_key(Json* json, Text* key) noexcept nogil:
    """Read up to the next value; False: there is none."""
    if json.has_failed:
        return False
    if _take(json, c"}"):
        json.at -= 1
        return False
    _take(json, c",")
    key[0] = json_text(json)
    if not json.has_failed and not _take(json, c":"):
        json.has_failed = True
    return not json.has_failed


cdef bint json_end(Json* json) noexcept nogil:
    """End the object; False: it is not whole, or something follows."""
    if json.has_failed or not _take(json, c"}"):
        return False
    _blanks(json)
    return json.at == json.end


cdef bint json_null(Json* json) noexcept nogil:
    return not json.has_failed and _take_word(json, b"null", 4)


cdef int64_t json_int(Json* json) noexcept nogil:
    """Return a whole number; `null` is 0."""
    cdef int64_t value = 0
    cdef const char* begin
    cdef bint is_negative
    if json.has_failed or json_null(json):
        return 0
    is_negative = _take(json, c"-")
    begin = json.at
    while json.at < json.end and 48 <= json.at[0] <= 57:
        if json.at - begin >= INT_DIGITS_MAX:
            json.has_failed = True
            return 0
        value = value * 10 + (json.at[0] - 48)
        json.at += 1
    if json.at == begin or (json.at < json.end and (json.at[0] == b"." or json.at[0] == b"e" or json.at[0] == b"E")):
        json.has_failed = True
    return -value if is_negative else value


cdef bint json_bool(Json* json) noexcept nogil:
    if json.has_failed or json_null(json) or _take_word(json, b"false", 5):
        return False
    if _take_word(json, b"true", 4):
        return True
    json.has_failed = True
    return False


cdef int _hex(char char) noexcept nogil:
    if 48 <= char <= 57:
        return char - 48
    char |= 32
    return char - 87 if 97 <= char <= 102 else -1


cdef uint32_t _unescaped(Json* json, const char* begin, const char* end, char* to) noexcept nogil:
    """Write a text without its escapes; return how long it is. A half of a surrogate pair is no text."""
    cdef uint32_t written = 0
    cdef int code, at, digit
    while begin < end:
        if begin[0] != b"\\":
            to[written] = begin[0]
            written += 1
            begin += 1
            continue
        begin += 1
        if begin[0] == b"u" and end - begin >= 5:
            code = 0
            for at in range(1, 5):
                digit = _hex(begin[at])
                if digit < 0:
                    json.has_failed = True
                    return 0
                code = code * 16 + digit
            begin += 5
            if code < 0x80:
                to[written] = <char> code
                written += 1
            elif code < 0x800:
                to[written] = <char> (0xC0 | code >> 6)
                to[written + 1] = <char> (0x80 | (code & 63))
                written += 2
            elif 0xD800 <= code < 0xE000:
                json.has_failed = True
                return 0
            else:
                to[written] = <char> (0xE0 | code >> 12)
                to[written + 1] = <char> (0x80 | (code >> 6 & 63))
                to[written + 2] = <char> (0x80 | (code & 63))
                written += 3
            continue
        if begin[0] == b"n":
            to[written] = 10
        elif begin[0] == b"t":
            to[written] = 9
        elif begin[0] == b"r":
            to[written] = 13
        elif begin[0] == b"b":
            to[written] = 8
        elif begin[0] == b"f":
            to[written] = 12
        elif begin[0] == b"\"" or begin[0] == b"\\" or begin[0] == b"/":
            to[written] = begin[0]
        else:
            json.has_failed = True
            return 0
        written += 1
        begin += 1
    return written


cdef Text json_text(Json* json) noexcept nogil:
    """Return a string; one with escapes stays until the outbox is flushed. `null` is empty."""
    cdef Text text
    cdef const char* begin
    cdef bint is_escaped = False
    cdef char* room
    text.chars = NULL
    text.length = 0
    if json.has_failed or json_null(json):
        return text
    if not _take(json, c"\""):
        json.has_failed = True
        return text
    begin = json.at
    while json.at < json.end and json.at[0] != b"\"":
        if json.at[0] == b"\\":
            is_escaped = True
            json.at += 1
        json.at += 1
    if json.at >= json.end:
        json.has_failed = True
        return text
    text.chars = begin
    text.length = <uint32_t> (json.at - begin)
    if is_escaped:
        room = outbox_chars(json.outbox, text.length)
        if room == NULL:
            json.has_failed = True
            return text
        text.length = _unescaped(json, begin, json.at, room)
        text.chars = room
    json.at += 1
    return text


cdef bint json_item(Json* json, bint is_first) noexcept nogil:
    """Read up to the next value of a list; False: it has ended."""
    if json.has_failed:
        return False
    if is_first:
        if json_null(json):
            return False
        if not _take(json, c"["):
            json.has_failed = True
            return False
        return not _take(json, c"]")
    if _take(json, c","):
        return True
    if not _take(json, c"]"):
        json.has_failed = True
    return False


cdef void json_skip(Json* json) noexcept nogil:
    """Pass over a value, whatever it is, as long as its brackets are not too deep."""
    cdef int depth = 0
    while not json.has_failed:
        _blanks(json)
        if json.at >= json.end:
            json.has_failed = True
        elif json.at[0] == b"\"":
            json_text(json)
        elif json.at[0] == b"{" or json.at[0] == b"[":
            depth += 1
            json.has_failed = depth > DEPTH_MAX
            json.at += 1
            continue
        elif json.at[0] == b"}" or json.at[0] == b"]":
            if depth == 0:
                json.has_failed = True
                return
            depth -= 1
            json.at += 1
        else:
            while json.at < json.end and memchr(b",:{}[]\"", json.at[0], 7) == NULL and json.at[0] > 32:
                json.at += 1
        if depth == 0:
            return
        while json.at < json.end and (json.at[0] == b"," or json.at[0] == b":"):
            json.at += 1


cdef uint32_t write_json_text(char* to, Text text) noexcept nogil:
    """Write what a client has chosen as part of a string, which becomes 6 times as long at most; return its length.

    What is no UTF-8 is written as it is.
    """
    cdef const char* digits = b"0123456789abcdef"
    cdef uint32_t at, written = 0
    cdef unsigned char char
    for at in range(text.length):
        char = <unsigned char> text.chars[at]
        if char == 34 or char == 92 or char < 32:
            memcpy(to + written, b"\\u00", 4)
            to[written + 4] = digits[char >> 4]
            to[written + 5] = digits[char & 15]
            written += 6
        else:
            to[written] = <char> char
            written += 1
    return written
