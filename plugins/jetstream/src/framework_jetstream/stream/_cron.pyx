"""When a schedule fires: `@at` a time, `@every` so often, or when the six fields of a cron text match in a time zone.

    second minute hour day-of-month month day-of-week

A field is a list of ranges, `*` or `?`, each with a step if it likes; months and days of the week have names. Days match by both fields
where one of them is a star, else by either. A time that clocks leave out never matches, one that they repeat does so twice.

Source: ADR-51; nats-server `scheduler.go`, `parseMsgSchedule`; `cron.go`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp

from framework_jetstream.engine._times cimport ns_of_text
from framework_jetstream.stream._headers cimport DURATION_INVALID, duration_of_text, seq_of_text, text_is
from framework_jetstream.stream._zones cimport zone_offset

cdef extern from "strings.h" nogil:
    int strncasecmp(const char* left, const char* right, size_t length)

cdef enum:
    FIELDS = 6
    YEARS_MAX = 5
    # In which something has to match.
    NAME_LENGTH = 3
    CHANGE_MAX_S = 10800
    # By which clocks are changed at once.

cdef int64_t SECOND_NS = 1000000000
cdef int64_t DAY_S = 86400
cdef uint64_t STAR = <uint64_t> 1 << 63
cdef uint32_t[FIELDS] LEAST = [0, 0, 0, 1, 1, 0]
cdef uint32_t[FIELDS] MOST = [59, 59, 23, 31, 12, 6]
cdef const char* MONTHS = b"janfebmaraprmayjunjulaugsepoctnovdec"
cdef const char* DAYS = b"sunmontuewedthufrisat"


cdef struct Date:
    int64_t year
    uint32_t month
    uint32_t day


# ---- the text --------------------------------------------------------------------------------------------------------------


cdef Text _up_to(Text* rest, char separator) noexcept nogil:
    """Take what stands before a separator, or all; what is left of it begins behind that. Nothing left: NULL."""
    cdef Text taken = rest[0]
    cdef const char* at = <const char*> memchr(rest.chars, separator, rest.length) if rest.length else NULL
    if at == NULL:
        rest.chars = NULL
        rest.length = 0
        return taken
    taken.length = <uint32_t> (at - taken.chars)
    rest.length -= taken.length + 1
    rest.chars = at + 1
    return taken


cdef bint _number(Text text, const char* names, uint32_t count, uint32_t first, uint32_t* number) noexcept nogil:
    """Read a number or a name; False: it is neither.

    Args:
        names: Of three letters each; NULL: there are none.
        first: The number of the first name.
    """
    cdef uint32_t at
    cdef uint64_t value
    if text.length == NAME_LENGTH and names != NULL:
        for at in range(count):
            if strncasecmp(text.chars, names + NAME_LENGTH * at, NAME_LENGTH) == 0:
                number[0] = first + at
                return True
    if text.length and text.chars[0] == b"+":
        text.chars += 1
        text.length -= 1
    value = seq_of_text(text)
    if value == <uint64_t> -1:
        return False
    number[0] = <uint32_t> min(value, <uint64_t> 1000)
    return True


cdef bint _read_number(Text text, int field, uint32_t* number) noexcept nogil:
    if field == 4:
        return _number(text, MONTHS, 12, 1, number)
    return _number(text, DAYS if field == 5 else NULL, 7, 0, number)


cdef bint _read_range(Text text, int field, uint64_t* bits) noexcept nogil:
    """Read one range of a field; False: it makes no sense."""
    cdef Text steps = text
    cdef Text ends = _up_to(&steps, c"/")
    cdef bint has_step = steps.chars != NULL
    cdef Text first = _up_to(&ends, c"-")
    cdef bint has_end = ends.chars != NULL
    cdef bint is_star = text_is(first, b"*", 1) or text_is(first, b"?", 1)
    cdef uint32_t begin = LEAST[field], end = MOST[field], step = 1
    if not is_star:
        if not _read_number(first, field, &begin):
            return False
        end = MOST[field] if has_step and not has_end else begin
        if has_end and not _read_number(ends, field, &end):
            return False
    if has_step and not _number(steps, NULL, 0, 0, &step):
        return False
    if begin < LEAST[field] or end > MOST[field] or begin > end or step == 0:
        return False
    if is_star and step == 1:
        bits[0] |= STAR
    while begin <= end:
        bits[0] |= <uint64_t> 1 << begin
        begin += step
    return True


cdef bint _read_field(Text text, int field, uint64_t* bits) noexcept nogil:
    """Read a field as a bit for each number that matches; False: it makes no sense."""
    cdef Text one
    bits[0] = 0
    while text.chars != NULL:
        one = _up_to(&text, c",")
        if one.length and not _read_range(one, field, bits):
            return False
    return True


cdef bint _read_cron(Text text, uint64_t* fields) noexcept nogil:
    cdef int count = 0
    cdef Text one
    while text.chars != NULL:
        one = _up_to(&text, c" ")
        if one.length == 0:
            continue
        if count == FIELDS or not _read_field(one, count, &fields[count]):
            return False
        count += 1
    return count == FIELDS


# ---- the calendar ----------------------------------------------------------------------------------------------------------


cdef Date _date_of(int64_t days) noexcept nogil:
    """Return the date of a day since 1970."""
    cdef Date date
    cdef int64_t shifted = days + 719468
    cdef int64_t era = shifted // 146097
    cdef int64_t of_era = shifted - era * 146097
    cdef int64_t year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    cdef int64_t of_year = of_era - (365 * year + year // 4 - year // 100)
    cdef int64_t month = (5 * of_year + 2) // 153
    date.day = <uint32_t> (of_year - (153 * month + 2) // 5 + 1)
    date.month = <uint32_t> (month + 3 if month < 10 else month - 9)
    date.year = year + era * 400 + (date.month <= 2)
    return date


cdef bint _has(uint64_t bits, int64_t number) noexcept nogil:
    return (bits >> <uint64_t> number) & 1


cdef bint _day_matches(const uint64_t* fields, const Date* date, int64_t days) noexcept nogil:
    cdef bint by_month = _has(fields[3], date.day)
    cdef bint by_week = _has(fields[5], (days + 4) % 7)
    if (fields[3] | fields[5]) & STAR:
        return by_month and by_week
    return by_month or by_week


cdef int64_t _next_day(const Zone* zone, int64_t at, int64_t local) noexcept nogil:
    """Return when the next day begins, or a time before it."""
    cdef int64_t day = local // DAY_S
    cdef int64_t following = at + DAY_S - local % DAY_S
    cdef int64_t behind = (following + zone_offset(zone, following)) % DAY_S
    # Clocks that were put forward show more than midnight.
    if behind <= CHANGE_MAX_S and (following - behind + zone_offset(zone, following - behind)) // DAY_S != day:
        following -= behind
    return max(following, at + 1)


cdef bint _next_match(const uint64_t* fields, const Zone* zone, int64_t after_ns, int64_t* next_ns) noexcept nogil:
    """Find the first second behind a time that matches; False: there is none for years."""
    cdef int64_t at = after_ns // SECOND_NS + 1
    cdef int64_t local = at + zone_offset(zone, at)
    cdef Date date = _date_of(local // DAY_S)
    cdef int64_t last_year = date.year + YEARS_MAX
    while date.year <= last_year:
        local = at + zone_offset(zone, at)
        date = _date_of(local // DAY_S)
        if not _has(fields[4], date.month) or not _day_matches(fields, &date, local // DAY_S):
            at = _next_day(zone, at, local)
        elif not _has(fields[2], local % DAY_S // 3600):
            at += 3600 - local % 3600
        elif not _has(fields[1], local % 3600 // 60):
            at += 60 - local % 60
        elif not _has(fields[0], local % 60):
            at += 1
        else:
            next_ns[0] = at * SECOND_NS
            return True
    return False


cdef const char* _predefined(Text pattern) noexcept nogil:
    """Return the cron text that a word stands for; NULL: it is none."""
    if text_is(pattern, b"@yearly", 7) or text_is(pattern, b"@annually", 9):
        return b"0 0 0 1 1 *"
    if text_is(pattern, b"@monthly", 8):
        return b"0 0 0 1 * *"
    if text_is(pattern, b"@weekly", 7):
        return b"0 0 0 * * 0"
    if text_is(pattern, b"@daily", 6) or text_is(pattern, b"@midnight", 9):
        return b"0 0 0 * * *"
    if text_is(pattern, b"@hourly", 7):
        return b"0 0 * * * *"
    return NULL


cdef bint is_cron(Text pattern) noexcept nogil:
    """Whether a schedule is a cron text, or a word for one."""
    if pattern.length > 4 and memcmp(pattern.chars, b"@at ", 4) == 0:
        return False
    return pattern.length <= 7 or memcmp(pattern.chars, b"@every ", 7) != 0


cdef int64_t _rounded(int64_t time_ns) noexcept nogil:
    return (time_ns + SECOND_NS // 2) // SECOND_NS * SECOND_NS


cdef bint _next_interval(Text duration, int64_t after_ns, int64_t now_ns, int64_t* next_ns) noexcept nogil:
    cdef int64_t every_ns = duration_of_text(duration)
    if every_ns == DURATION_INVALID or every_ns < SECOND_NS:
        return False
    next_ns[0] = _rounded(after_ns) + every_ns
    if next_ns[0] < now_ns:
        next_ns[0] = _rounded(now_ns) + every_ns
    return True


cdef bint schedule_next(
    Text pattern, const Zone* zone, int64_t after_ns, int64_t now_ns, int64_t* next_ns, bint* repeats
) noexcept nogil:
    """Find when a schedule fires; False: its text makes no sense.

    Args:
        zone: Of a cron text; NULL: UTC.
        after_ns: When it has fired last, or came.
        now_ns: What it has missed before this is left out.
    """
    cdef uint64_t[FIELDS] fields
    cdef const char* words = _predefined(pattern)
    cdef Text rest = pattern
    repeats[0] = True
    if pattern.length > 4 and memcmp(pattern.chars, b"@at ", 4) == 0:
        repeats[0] = False
        rest.chars += 4
        rest.length -= 4
        return ns_of_text(rest, next_ns)
    if pattern.length > 7 and memcmp(pattern.chars, b"@every ", 7) == 0:
        rest.chars += 7
        rest.length -= 7
        return _next_interval(rest, after_ns, now_ns, next_ns)
    if words != NULL:
        rest.chars = words
        rest.length = 11
    if not _read_cron(rest, fields) or not _next_match(fields, zone, after_ns, next_ns):
        return False
    return next_ns[0] >= now_ns or _next_match(fields, zone, _rounded(now_ns), next_ns)
