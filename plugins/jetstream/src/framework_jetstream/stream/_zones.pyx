"""Time zones: how far a place is from UTC at a time, as the files of the system say.

A file is read when its zone is asked for, once in a process: what is known is kept, so that a zone is the same as long as a server runs.
It lists changes up to some year; behind that a rule says when daylight saving time begins and ends in each.

Source: RFC 8536; POSIX, "Other Environment Variables", `TZ`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport FILE, fclose, fopen, fread, snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from framework_jetstream.stream._headers cimport text_is

cdef extern from *:
    """
    #include <pthread.h>
    static pthread_mutex_t zones_mutex = PTHREAD_MUTEX_INITIALIZER;
    static void zones_lock(void) { pthread_mutex_lock(&zones_mutex); }
    static void zones_unlock(void) { pthread_mutex_unlock(&zones_mutex); }
    """
    void zones_lock() nogil
    void zones_unlock() nogil

cdef enum:
    FILE_BYTES_MAX = 1 << 16
    HEAD_BYTES = 44
    ZONES_MAX = 2048
    # There are about 600, and as many again under other names.
    WEEK = 7
    FOLDERS = 4

cdef int64_t DAY_S = 86400


cdef Zone* _zones = NULL
cdef uint32_t _zone_count = 0


# ---- the rule --------------------------------------------------------------------------------------------------------------


cdef bint _skip_name(const char** at) noexcept nogil:
    """Skip the name of a time; False: there is none."""
    cdef const char* begin = at[0]
    if at[0][0] == c"<":
        while at[0][0] and at[0][0] != c">":
            at[0] += 1
        if not at[0][0]:
            return False
        at[0] += 1
        return True
    while (c"a" <= at[0][0] <= c"z") or (c"A" <= at[0][0] <= c"Z"):
        at[0] += 1
    return at[0] != begin


cdef bint _take_number(const char** at, int32_t* number) noexcept nogil:
    """Read a number of at most four digits; False: there is none."""
    cdef const char* begin = at[0]
    number[0] = 0
    while c"0" <= at[0][0] <= c"9" and at[0] - begin < 4:
        number[0] = number[0] * 10 + at[0][0] - c"0"
        at[0] += 1
    return at[0] != begin


cdef bint _take_time(const char** at, int32_t* seconds) noexcept nogil:
    """Read `[+-]hours[:minutes[:seconds]]`; False: it makes no sense."""
    cdef int32_t sign = -1 if at[0][0] == c"-" else 1
    cdef int32_t unit = 3600, number
    seconds[0] = 0
    if at[0][0] == c"-" or at[0][0] == c"+":
        at[0] += 1
    while True:
        if not _take_number(at, &number):
            return False
        seconds[0] += sign * number * unit
        if at[0][0] != c":" or unit == 1:
            return True
        unit //= 60
        at[0] += 1


cdef bint _take_day(const char** at, Day* day) noexcept nogil:
    """Read `,date[/time]`; False: it makes no sense."""
    if at[0][0] != c",":
        return False
    at[0] += 1
    day.kind = at[0][0] if at[0][0] in (c"M", c"J") else c"N"
    at[0] += day.kind != c"N"
    day.time_s = 2 * 3600
    if day.kind == c"M":
        if not _take_number(at, &day.month) or at[0][0] != c".":
            return False
        at[0] += 1
        if not _take_number(at, &day.week) or at[0][0] != c".":
            return False
        at[0] += 1
    if not _take_number(at, &day.day):
        return False
    if at[0][0] == c"/":
        at[0] += 1
        return _take_time(at, &day.time_s)
    return True


cdef bint _read_rule(const char* text, Rule* rule) noexcept nogil:
    """Read a rule up to its end; False: it makes no sense."""
    memset(rule, 0, sizeof(rule[0]))
    if not text[0]:
        return True
    if not _skip_name(&text) or not _take_time(&text, &rule.winter_s):
        return False
    rule.winter_s = -rule.winter_s
    rule.is_there = True
    if not text[0]:
        return True
    rule.has_summer = True
    if not _skip_name(&text):
        return False
    rule.summer_s = rule.winter_s + 3600
    if text[0] and text[0] != c",":
        if not _take_time(&text, &rule.summer_s):
            return False
        rule.summer_s = -rule.summer_s
    return _take_day(&text, &rule.begin) and _take_day(&text, &rule.end) and not text[0]


cdef int64_t _days_before(int64_t year) noexcept nogil:
    """Return the days from 1970 to the beginning of a year."""
    year -= 1
    return year * 365 + year // 4 - year // 100 + year // 400 - 719162


cdef bint _is_leap(int64_t year) noexcept nogil:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


cdef int64_t _day_of(const Day* day, int64_t year) noexcept nogil:
    """Return the day since 1970 that a rule means."""
    cdef int32_t* lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    cdef int64_t first = _days_before(year), length, found
    cdef int month
    if day.kind == c"N":
        return first + day.day
    if day.kind == c"J":
        return first + day.day - 1 + (_is_leap(year) and day.day >= 60)
    for month in range(min(max(day.month, 1), 12) - 1):
        first += lengths[month] + (month == 1 and _is_leap(year))
    month = min(max(day.month, 1), 12) - 1
    length = lengths[month] + (month == 1 and _is_leap(year))
    found = first + (day.day - (first + 4) % WEEK + WEEK) % WEEK + (day.week - 1) * WEEK
    while found >= first + length:
        found -= WEEK
    return found


cdef int64_t _by_rule(const Rule* rule, int64_t at_s) noexcept nogil:
    cdef int64_t local = at_s + rule.winter_s
    cdef int64_t year = 1970 + local // (365 * DAY_S + DAY_S // 4)
    cdef int64_t begin, end
    if not rule.has_summer:
        return rule.winter_s
    while _days_before(year) * DAY_S > local:
        year -= 1
    while _days_before(year + 1) * DAY_S <= local:
        year += 1
    begin = _day_of(&rule.begin, year) * DAY_S + rule.begin.time_s - rule.winter_s
    end = _day_of(&rule.end, year) * DAY_S + rule.end.time_s - rule.summer_s
    if begin < end:
        return rule.summer_s if begin <= at_s < end else rule.winter_s
    return rule.winter_s if end <= at_s < begin else rule.summer_s


# ---- the file --------------------------------------------------------------------------------------------------------------


cdef uint64_t _big(const uint8_t* at, int size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int place
    for place in range(size):
        value = value << 8 | at[place]
    return value


cdef size_t _block_bytes(const uint8_t* head, int size) noexcept nogil:
    """Return how long what follows a head is, with times of so many bytes."""
    cdef uint64_t utc = _big(head + 20, 4), standard = _big(head + 24, 4), leaps = _big(head + 28, 4)
    cdef uint64_t times = _big(head + 32, 4), types = _big(head + 36, 4), chars = _big(head + 40, 4)
    return <size_t> (times * (size + 1) + types * 6 + chars + leaps * (size + 4) + standard + utc)


cdef bint _read_changes(Zone* zone, const uint8_t* head, const uint8_t* end) noexcept nogil:
    """Read the changes behind a head; False: they make no sense, or there is no memory."""
    cdef uint32_t times = <uint32_t> _big(head + 32, 4), types = <uint32_t> _big(head + 36, 4), at
    cdef const uint8_t* moments = head + HEAD_BYTES
    cdef const uint8_t* kinds = moments + <size_t> times * 8
    cdef const uint8_t* offsets = kinds + times
    if types == 0 or moments + _block_bytes(head, 8) > end:
        return False
    zone.first_s = <int32_t> _big(offsets, 4)
    zone.count = times
    zone.changes = <int64_t*> malloc((times + 1) * sizeof(int64_t))
    zone.offsets = <int32_t*> malloc((times + 1) * sizeof(int32_t))
    if zone.changes == NULL or zone.offsets == NULL:
        return False
    for at in range(times):
        if kinds[at] >= types:
            return False
        zone.changes[at] = <int64_t> _big(moments + <size_t> at * 8, 8)
        zone.offsets[at] = <int32_t> _big(offsets + kinds[at] * 6, 4)
    return True


cdef bint _is_head(const uint8_t* at, const uint8_t* end) noexcept nogil:
    return at + HEAD_BYTES <= end and memcmp(at, b"TZif", 4) == 0 and at[4] >= c"2"


cdef bint _read(Zone* zone, uint8_t* chars, size_t length) noexcept nogil:
    """Read a file; False: it is none of a zone.

    Args:
        chars: Has a byte more than that, for the end of a text.
    """
    cdef const uint8_t* end = chars + length
    cdef const uint8_t* head = chars
    cdef uint8_t* text
    if not _is_head(head, end) or _block_bytes(head, 4) > length - HEAD_BYTES:
        return False
    head += HEAD_BYTES + _block_bytes(head, 4)
    if not _is_head(head, end) or not _read_changes(zone, head, end):
        return False
    text = <uint8_t*> head + HEAD_BYTES + _block_bytes(head, 8)
    if text == end or text[0] != c"\n":
        return False
    text += 1
    head = text
    while head < end and head[0] != c"\n":
        head += 1
    (<uint8_t*> head)[0] = 0
    return _read_rule(<const char*> text, &zone.rule)


cdef const char* _folder(int at) noexcept nogil:
    """Return where zones may be; the first of these that has one is taken."""
    if at == 0:
        return b"/usr/share/zoneinfo"
    if at == 1:
        return b"/usr/lib/zoneinfo"
    return b"/usr/share/lib/zoneinfo" if at == 2 else b"/etc/zoneinfo"


cdef size_t _load(const char* name, uint8_t* chars) noexcept nogil:
    """Read the file of a zone; return its bytes, 0: there is none."""
    cdef char path[NAME_MAX + 32]
    cdef FILE* file
    cdef size_t length
    cdef int at
    for at in range(FOLDERS):
        if memcmp(name, b"Local", 6) == 0:
            memcpy(path, b"/etc/localtime", 15)
        else:
            snprintf(path, sizeof(path), b"%s/%s", _folder(at), name)
        file = fopen(path, b"rbe")
        if file == NULL:
            continue
        length = fread(chars, 1, FILE_BYTES_MAX, file)
        fclose(file)
        return length
    return 0


# ---- zones -----------------------------------------------------------------------------------------------------------------


cdef bint _is_name(Text name) noexcept nogil:
    """Whether a zone may be called so: a path below the folder of zones."""
    cdef uint32_t at
    cdef char char_
    if not 0 < name.length <= NAME_MAX or name.chars[0] == c"/":
        return False
    for at in range(name.length):
        char_ = name.chars[at]
        if char_ == c"." and at and name.chars[at - 1] == c".":
            return False
        if not (c"a" <= char_ <= c"z" or c"A" <= char_ <= c"Z" or c"0" <= char_ <= c"9" or char_ in (c"/", c"_", c"-", c"+", c".")):
            return False
    return True


cdef void _free(Zone* zone) noexcept nogil:
    free(zone.changes)
    free(zone.offsets)
    free(zone)


cdef Zone* _made(Text name) noexcept nogil:
    """Read a zone; NULL: there is none of that name, or no memory."""
    cdef Zone* zone = <Zone*> calloc(1, sizeof(Zone))
    cdef uint8_t* chars = <uint8_t*> malloc(FILE_BYTES_MAX + 1)
    cdef bint is_read = False
    cdef size_t length
    if zone != NULL and chars != NULL:
        memcpy(zone.name, name.chars, name.length)
        length = _load(zone.name, chars)
        is_read = _read(zone, chars, length) or text_is(name, b"UTC", 3) or (length == 0 and text_is(name, b"Local", 5))
    free(chars)
    if zone != NULL and not is_read:
        _free(zone)
        return NULL
    return zone


cdef const Zone* zone_find(Text name) noexcept nogil:
    """Return a zone by its name, or that of the machine, `Local`; NULL: the system does not know it. Callable from any thread."""
    global _zones, _zone_count
    cdef Zone* zone
    if not _is_name(name):
        return NULL
    zones_lock()
    zone = _zones
    while zone != NULL and not text_is(name, zone.name, _length(zone.name)):
        zone = zone.next
    if zone == NULL and _zone_count < ZONES_MAX:
        zone = _made(name)
        if zone != NULL:
            zone.next = _zones
            _zones = zone
            _zone_count += 1
    zones_unlock()
    return zone


cdef size_t _length(const char* text) noexcept nogil:
    cdef size_t length = 0
    while text[length]:
        length += 1
    return length


cdef int64_t zone_offset(const Zone* zone, int64_t at_s) noexcept nogil:
    """Return how many seconds local time is ahead of UTC; of no zone: none."""
    cdef uint32_t low = 0, high, middle
    if zone == NULL:
        return 0
    high = zone.count
    while low < high:
        middle = low + (high - low) // 2
        if zone.changes[middle] <= at_s:
            low = middle + 1
        else:
            high = middle
    if low == zone.count and zone.rule.is_there:
        return _by_rule(&zone.rule, at_s)
    return zone.offsets[low - 1] if low else zone.first_s
