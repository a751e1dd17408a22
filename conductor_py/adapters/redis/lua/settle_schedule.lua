-- PURPOSE    Keep the record of a firing and move its schedule on to the next instant.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, name, generation, version, fired instant in ms (0: moves nothing), next instant in ms (0: none),
--            record id, record's instant in ms, record, how many records stay, when there are more than these
-- RETURNS    1 when it moved, else 0
-- INVARIANT  It moves only from the instant and version that were claimed; a repeat replaces its own record.
-- BOUND      The records of one schedule.
-- @include room
-- @include time
-- @include schedule
local P, now, name = KEYS[1], store_now(ARGV[1]), ARGV[2]
goes_on(P)
local fired, next_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
local id, at = ARGV[7] .. ' ', tonumber(ARGV[8])

local known = read_schedule(P, name)
if not known or known.generation ~= tonumber(ARGV[3]) then
  return 0
end
local runs = P .. 'schedules:runs:' .. name
for _, member in ipairs(redis.call('ZRANGE', runs, int(at), int(at), 'BYSCORE')) do
  if string.sub(member, 1, #id) == id then
    redis.call('ZREM', runs, member)
  end
end
redis.call('ZADD', runs, int(at), id .. ARGV[9])
if redis.call('ZCARD', runs) > tonumber(ARGV[11]) then
  redis.call('ZREMRANGEBYRANK', runs, 0, -1 - tonumber(ARGV[10]))
end
if fired == 0 or known.next_ms ~= fired or known.version ~= tonumber(ARGV[4]) then
  return 0
end
known.version = math.max(known.version + 1, now)
known.next_ms, known.tries = next_ms, 0
write_schedule(P, name, known)
arm_schedule(P, name, known.armed and next_ms > 0 and math.max(next_ms, now) or 0)
return 1
