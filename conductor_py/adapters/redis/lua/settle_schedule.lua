-- PURPOSE    Keep the record of a firing and what it started, and move its schedule on to the next instant.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, name, generation, fired instant in ms (0: moves nothing), next instant in ms (0: none), record id,
--            record's instant in ms, record, how many records stay, when there are more than these,
--            execution that was started (empty: none), those that have ended…
-- RETURNS    1 when it moved, else 0
-- INVARIANT  It moves only from the instant that was claimed; a record that tells of a start is never replaced by one
--            that tells of none.
-- BOUND      The records of one schedule.
-- @include room
-- @include time
-- @include schedule
local P, now, name = KEYS[1], store_now(ARGV[1]), ARGV[2]
goes_on(P)
local fired, next_ms = tonumber(ARGV[4]), tonumber(ARGV[5])
local id, at, started = ARGV[6] .. ' ', tonumber(ARGV[7]), ARGV[11]
local kept_started = 20

local known = read_schedule(P, name)
if not known or known.generation ~= tonumber(ARGV[3]) then
  return 0
end
local runs, begun = P .. 'schedules:runs:' .. name, P .. 'schedules:started:' .. name
local is_new = true
for _, member in ipairs(redis.call('ZRANGE', runs, int(at), int(at), 'BYSCORE')) do
  if string.sub(member, 1, #id) == id then
    is_new = started ~= ''
    if is_new then
      redis.call('ZREM', runs, member)
    end
  end
end
if is_new then
  redis.call('ZADD', runs, int(at), id .. ARGV[8])
end
if redis.call('ZCARD', runs) > tonumber(ARGV[10]) then
  redis.call('ZREMRANGEBYRANK', runs, 0, -1 - tonumber(ARGV[9]))
end
for i = 12, #ARGV do
  redis.call('ZREM', begun, ARGV[i])
end
if started ~= '' then
  redis.call('ZADD', begun, int(at), started)
  redis.call('ZREMRANGEBYRANK', begun, 0, -1 - kept_started)
end
if fired == 0 or known.next_ms ~= fired then
  return 0
end
known.version = math.max(known.version + 1, now)
known.next_ms, known.tries = next_ms, 0
write_schedule(P, name, known)
arm_schedule(P, name, known.armed and next_ms > 0 and math.max(next_ms, now) or 0)
return 1
